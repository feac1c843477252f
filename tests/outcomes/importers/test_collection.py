"""Collections of our own as logs: what `collect` wrote is what `report` reads."""

import pytest

from lib.outcomes import OutcomesError, importers
from lib.reporting import read_arms
from lib.rollouts import collection
from lib.rollouts.policies import Reply, ScriptedPolicy
from lib.trajectories.schema import Message, Turn
from tests import buttons

WORLD = buttons.Buttons()


def presses(context, key):
    """Press the right button in even attempts; the third one meets trouble."""
    if key.attempt == 3:
        return Reply(Message("assistant", ""), Turn(0), "timeout")
    return buttons.press(int(key.task[1:]) if key.attempt % 2 == 0 else 99)


@pytest.fixture
def collected(tmp_path):
    def make(name, heat, tasks=2, turns=9):
        policy = ScriptedPolicy(presses, name)
        policy.settings = {**policy.settings, "sampling": {"temperature": heat, "stop": [name]}}
        out = tmp_path / name
        collection.collect(
            policy, WORLD, WORLD.tasks()[:tasks], 4, out, pair=name, arm="a", max_turns=turns
        )
        return out

    return make


def test_a_collection_is_recognised_and_counted(collected):
    imported = importers.load(collected("one", 0.5))
    assert imported.report.format == "collection"
    assert (imported.report.attempts, imported.report.scored) == (8, 6)
    assert imported.report.missing == {"timeout": 2}
    expected = collection.table(imported.report.files[0].rpartition("/")[0])
    assert imported.outcomes["passed"].tolist() == expected["passed"].tolist()
    assert imported.report.settings["temperature"] == [0.5]


def test_messages_come_when_they_are_asked_for(collected):
    imported = importers.load(collected("one", 0.5), trajectories=True)
    assert len(imported.rollouts) == 8
    assert imported.rollouts[0].messages[-1].role == "assistant"


def test_arms_of_two_collections_are_aligned_and_their_settings_compared(collected):
    logs, table = read_arms(collected("base", 0.5), collected("post", 1.0))
    assert sorted(table["arm"].unique()) == ["base", "post"]
    unlike = importers.differing_settings(logs["base"], logs["post"])
    assert unlike["setting"].tolist() == ["temperature"]  # stops belong to how a model is spoken to


def test_a_folder_without_rollouts_is_refused(tmp_path):
    with pytest.raises(OutcomesError, match="no rollouts yet"):
        importers.read_collection(tmp_path)
