"""Work that an older version began goes on here, and ends as it would have ended there.

tests/data/resume/README.md tells how its folders were made: each `half` is what a kill left of a
command, each `whole` what the same command gave undisturbed.
"""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from lib.__main__ import main
from tests.recorder import chat, completion, serving

# A folder tells the versions of Python and of packages that it was begun with.
pytestmark = pytest.mark.filterwarnings("ignore:.* was begun with")

DATA = Path(__file__).parent / "data" / "resume"
MODELS = DATA / "models"

LAKE = "--tasks 8 --groups 4 --group-size 6 --minibatch 8 --max-new-tokens 6 --learning-rate 1e-3"
MODELS_OF_SCORES = "--policy {models}/post --reference {models}/base"
COMMANDS = {
    "collect-local": "collect frozenlake {models}/base --prompt-format words --tasks 6 -n 2 "
    "--temperature 1 --max-new-tokens 6 --concurrency 4",
    "collect-server": "collect frozenlake:test m --server {server} --tasks 2 -n 4 --seed 20",
    "train-grpo": "train {models}/base frozenlake --schedule ptgs --steps 8 " + LAKE,
    "train-ppo": "train {models}/base frozenlake --algorithm ppo --temperature 0.9 --steps 14 "
    "--reward return --entropy-bonus 0.01 --kl-weight 0.01 --seed 1 " + LAKE,
    "score-stored": "score {collected} " + MODELS_OF_SCORES,
    "score-text": "score {collected} --prompt-format words --alpha 0.5 --merge ties "
    + MODELS_OF_SCORES,
}
TRAININGS = ["train-grpo", "train-ppo"]
LOGS = {
    "collect": "rollouts-000-of-001.jsonl",
    "train": "steps.jsonl",
    "score": "scores-000-of-001.jsonl",
}
DONE = {
    "collect-local": 6,
    "collect-server": 5,
    "train-grpo": 4,
    "train-ppo": 11,
    "score-stored": 5,
    "score-text": 7,
}
"""Lines of each log that were done; what follows is torn, or later than the checkpoint."""

BEGUN = {
    "desk": "collect desk:test m --server {server} --prompt-format chat --thinking",
    "sokoban": "collect sokoban m --server {server} --server-kind llama.cpp --prompt-format plain",
    "bfcl": "collect bfcl:multi_turn_base m --server {server} --server-kind transformers",
    "harness": "collect frozenlake {models}/bytes --max-new-tokens 2 --parser paper",
    "chat": "collect frozenlake {models}/bytes --max-new-tokens 2 --prompt-format chat",
}
"""Collections that were killed before an attempt was done."""


def answer(body):
    """A server's reply, which hangs on all that it is asked."""
    chance = random.Random(json.dumps(body, sort_keys=True))
    moves = ["up", "down", "left", "right"]
    arguments = {"first": chance.choice(moves), "second": chance.choice(moves)}
    call = f"```tool_call\n{json.dumps([{'name': 'move', 'arguments': arguments}])}"
    return chat(content=call) if "messages" in body else completion(call)


def go(command, out):
    """Run one of the commands into a folder; its exit code."""
    with serving(answer) as server:
        places = {"models": MODELS, "collected": DATA / "collect-local" / "whole"}
        places["server"] = server.address
        return main([*(part.format(**places) for part in command.split()), "-o", str(out)])


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    """The folder of a half command by its name, brought to its end."""
    folders = {}

    def finish(name):
        if name not in folders:
            out = tmp_path_factory.mktemp("resumed") / name
            shutil.copytree(DATA / name / "half", out)
            assert go(COMMANDS[name], out) == 0
            folders[name] = out
        return folders[name]

    return finish


def lines(folder, name):
    return (folder / LOGS[name.split("-")[0]]).read_bytes().splitlines(keepends=True)


def records(folder, name):
    """The lines of a log as JSON, in an order of their own, without what hangs on the machine."""
    found = [json.loads(line) for line in lines(folder, name)]
    for one in found:
        for part in ("seconds", "engine_gap", "collection"):
            one.pop(part, None)
    keys = ("task", "attempt", "step", "key")
    return sorted(found, key=lambda one: json.dumps([one.get(key) for key in keys]))


def leaves(value, *place):
    """A nested JSON value as pairs, the place of each leaf and what is there."""
    if not isinstance(value, dict | list):
        return [(place, value)]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [leaf for name, part in inner for leaf in leaves(part, *place, name)]


def check_alike(found, expected):
    """Refuse any difference but in the last digits of numbers that are no counts."""
    found, expected = dict(leaves(found)), dict(leaves(expected))
    rounded = [place for place, value in expected.items() if isinstance(value, float)]
    numbers = [[one.pop(place, None) for place in rounded] for one in (found, expected)]
    assert found == expected
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_was_done_stays_as_it_was(resumed, name):
    done = DONE[name]
    assert lines(resumed(name), name)[:done] == lines(DATA / name / "half", name)[:done]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_comes_is_what_would_have_come(resumed, name):
    check_alike(records(resumed(name), name), records(DATA / name / "whole", name))


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_ends_with_the_weights_that_it_would_have(resumed, name):
    start, found, expected = (
        load_file(folder / "model.safetensors")
        for folder in (MODELS / "base", resumed(name) / "model", DATA / name / "whole")
    )
    assert found.keys() == expected.keys()
    for tensor, weights in expected.items():
        learned = np.linalg.norm(weights - start[tensor])
        assert np.linalg.norm(found[tensor] - weights) < 0.01 * learned


@pytest.mark.parametrize("name", TRAININGS)
def test_what_a_kill_left_half_written_is_gone(resumed, name):
    there = sorted(path.name for path in resumed(name).iterdir())
    last = f"checkpoint-{len(lines(resumed(name), name)):06}"
    assert there == [last, "model", "run.json", "steps.jsonl"]


@pytest.mark.parametrize("name", BEGUN)
def test_a_collection_without_an_attempt_takes_its_first(name, tmp_path):
    if name == "bfcl":
        pytest.importorskip("bfcl_eval", reason="BFCL is not installed: make benchmarks")
    out = shutil.copytree(DATA / "begun" / name, tmp_path / name)
    assert go(BEGUN[name] + " --tasks 1 -n 1", out) == 0
    assert len(lines(out, "collect")) == 1


@pytest.mark.parametrize(
    ("name", "option", "said"),
    [
        ("collect-local", "--seed 1", "was collected with seed = 0, now it is 1"),
        ("train-grpo", "--tau 2", "was begun with sampler tau = 1.5, now it is 2.0"),
        ("train-ppo", "--seed 2", "was begun with settings seed = 1, now it is 2"),
        ("score-text", "--top-k 5", "was collected with --top-k = 20, now it is 5"),
    ],
)
def test_another_setting_is_refused(tmp_path, capsys, name, option, said):
    out = shutil.copytree(DATA / name / "half", tmp_path / name)
    assert go(f"{COMMANDS[name]} {option}", out) == 2
    assert said in capsys.readouterr().err
