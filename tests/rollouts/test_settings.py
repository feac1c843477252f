"""A collection refuses settings that differ from those it was begun with."""

import errno
import json
import os
from importlib import metadata

import pytest

from lib.rollouts.collection import check, table
from lib.rollouts.policies import ScriptedPolicy
from lib.trajectories.manifest import CollectionError
from tests import buttons
from tests.collecting import BUTTONS, Counting, guess, lines, run

CHANGES = {
    "seed": {"seed": 1},
    "pair": {"pair": "q"},
    "arm": {"arm": "b"},
    "max_turns": {"max_turns": 3},
    "policy.script": {"policy": ScriptedPolicy(guess, "other")},
    "benchmark": {"environment": type("Other", (buttons.Buttons,), {"name": "other"})()},
    "environment.slip": {
        "environment": type("Slippery", (buttons.Buttons,), {"settings": {"slip": 1}})()
    },
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_setting_is_refused_by_name(tmp_path, name):
    run(tmp_path)
    before = lines(tmp_path)
    with pytest.raises(CollectionError, match=f"was collected with {name} = .*, now it is"):
        run(tmp_path, n=9, **CHANGES[name])
    assert lines(tmp_path) == before


def test_a_nested_setting_is_named_by_its_path(tmp_path):
    def policy(temperature):
        made = Counting()
        made.settings |= {"sampling": {"temperature": temperature, "stop": ["a"]}}
        return made

    run(tmp_path, policy=policy(0.7))
    with pytest.raises(CollectionError, match=r"policy.sampling.temperature = 0.7, now it is 1.0"):
        run(tmp_path, policy=policy(1.0))


def test_a_manifest_that_is_no_json(tmp_path):
    run(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(CollectionError, match=r"manifest.json: not JSON.*another folder"):
        run(tmp_path)


def test_a_file_system_without_hard_links_keeps_the_first_manifest(tmp_path, monkeypatch):
    def link(source, target):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    run(tmp_path)
    with pytest.raises(CollectionError, match="was collected with seed = 0, now it is 1"):
        run(tmp_path, seed=1)


def test_another_version_of_a_package_only_warns(tmp_path):
    run(tmp_path)
    file = tmp_path / "manifest.json"
    there = json.loads(file.read_text())
    assert there["versions"]["torch"] == metadata.version("torch")
    there["versions"]["torch"] = "1.0"
    file.write_text(json.dumps(there))
    with pytest.warns(UserWarning, match=r"was begun with torch 1.0, now 2"):
        run(tmp_path)


def test_settings_are_checked_before_there_is_a_policy(tmp_path):
    settings = {"pair": "p", "arm": "a", "policy": {"policy": "scripted"}}
    check(BUTTONS, ["t0"], 1, tmp_path / "new", **settings)
    assert not (tmp_path / "new").exists()
    run(tmp_path)
    check(BUTTONS, ["t0"], 1, tmp_path, **settings)
    with pytest.raises(
        CollectionError, match=r"with policy.policy = 'scripted', now it is 'local'"
    ):
        check(BUTTONS, ["t0"], 1, tmp_path, **settings | {"policy": {"policy": "local"}})
    with pytest.raises(CollectionError, match="no task 't9'"):
        check(BUTTONS, ["t9"], 1, tmp_path, **settings)


@pytest.mark.parametrize(
    "settings", [{"n": 0}, {"at_once": 0}, {"shard": (2, 2)}, {"shard": (-1, 2)}]
)
def test_bad_numbers(tmp_path, settings):
    with pytest.raises(CollectionError, match="expected n and at_once of at least 1"):
        run(tmp_path, **settings)


def test_unknown_tasks_and_none(tmp_path):
    with pytest.raises(CollectionError, match=r"buttons has no task 't9'; its first task is 't0'"):
        run(tmp_path, tasks=["t0", "t9"])
    with pytest.raises(CollectionError, match="no task to collect"):
        run(tmp_path, tasks=[])


def test_an_empty_folder_has_no_table(tmp_path):
    with pytest.raises(CollectionError, match="no rollouts yet"):
        table(tmp_path)


def test_a_file_has_one_writer(tmp_path):
    seen = []

    def script(context, key):
        if not seen:
            seen.append(key)
            with pytest.raises(ValueError, match="is being written by another process"):
                run(tmp_path)
        return guess(context, key)

    run(tmp_path, policy=ScriptedPolicy(script, "guess"))
    assert seen
