"""Attempts of one collection are not counted as those of another."""

import json
import re

import pytest

from lib.rollouts.collection import table
from lib.trajectories.manifest import CollectionError
from lib.trajectories.store import read_collection
from tests.collecting import run


def mixed(tmp_path, change=None, **other):
    """A collection that a shard of another was copied into; each of its lines after `change`."""
    run(tmp_path / "own", n=1)
    run(tmp_path / "other", n=2, **other)
    [shard] = (tmp_path / "other").glob("rollouts-*")
    lines = [json.loads(line) for line in shard.read_text().splitlines()]
    for line in lines:
        (change or dict)(line)
    copy = tmp_path / "own" / "rollouts-001-of-002.jsonl"
    copy.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "own"


def unsigned(line):
    """A line as older versions wrote it: it does not say of which collection it is."""
    del line["collection"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"seed": 3}, "seed 3, here 0"),
        ({"arm": "post"}, "arm 'post', here 'a'"),
        ({"pair": "x"}, "pair 'x', here"),
    ],
)
@pytest.mark.parametrize("change", [None, unsigned])
def test_attempts_of_another_collection_are_refused_by_name(tmp_path, other, message, change):
    out = mixed(tmp_path, change, **other)
    for read in (table, lambda out: list(read_collection(out)), lambda out: run(out, n=3)):
        with pytest.raises(CollectionError, match=message) as raised:
            read(out)
        assert "rollouts-001-of-002.jsonl" in str(raised.value)


def test_attempts_under_another_limit_are_refused_by_the_key_of_their_settings(tmp_path):
    out = mixed(tmp_path, max_turns=7)
    with pytest.raises(CollectionError, match=r"its settings are not those of manifest\.json"):
        table(out)


def test_another_temperature_is_seen_in_lines_without_a_key(tmp_path):
    def hotter(line):
        unsigned(line)
        line["sampling"]["temperature"] = 2.0

    out = mixed(tmp_path, hotter)
    next(out.glob("rollouts-000*")).unlink()
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["policy.sampling.temperature"] = 1.0
    (out / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CollectionError, match=re.escape("sampling.temperature 2.0, here 1.0")):
        table(out)


def test_shards_of_equal_settings_merge_whichever_folder_they_come_from(tmp_path):
    assert len(table(mixed(tmp_path))) == 2 * len(set(table(tmp_path / "own")["task"]))


def test_a_folder_that_lost_its_manifest_is_refused(tmp_path):
    run(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(CollectionError, match=r"holds attempts .* but no manifest\.json"):
        run(tmp_path)


def test_a_manifest_that_is_not_utf_8_is_named(tmp_path):
    run(tmp_path)
    (tmp_path / "manifest.json").write_bytes(b"\xff\xfe")
    with pytest.raises(CollectionError, match=r"manifest\.json: not UTF-8"):
        table(tmp_path)


def test_a_line_of_tools_that_holds_something_else_is_named(tmp_path):
    run(tmp_path)
    tools = next(tmp_path.glob("tools-*"))
    tools.write_text(tools.read_text() + "[1]\n")
    with pytest.raises(CollectionError, match=r"tools-.*jsonl:\d+: expected an object with key"):
        list(read_collection(tmp_path))
