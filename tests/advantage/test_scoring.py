"""`advantage.score`: what the command `score` does, from Python."""

import filecmp

import pandas as pd
import pytest

from lib import advantage
from lib.__main__ import main
from lib.rollouts.prompts import Harness
from lib.rollouts.prompts.word_language import WordLanguage
from lib.trajectories.jsonl import RolloutWriter
from tests.advantage.conftest import FOLDERS


@pytest.fixture
def file(rollouts, tmp_path):
    with RolloutWriter(tmp_path / "rollouts.jsonl") as out:
        for rollout in rollouts[:4]:
            out.write(rollout)
    return tmp_path / "rollouts.jsonl"


@pytest.fixture
def run(file, tmp_path):
    def score(**options):
        reference = options.pop("reference", FOLDERS["reference"])
        return advantage.score([file], FOLDERS["policy"], reference, tmp_path / "scores", **options)

    return score


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, []),
        ({"alpha": 0.5, "merge": "ties"}, ["--alpha", "0.5", "--merge", "ties"]),
        ({"prompt_format": WordLanguage()}, ["--prompt-format", "words"]),
    ],
)
def test_the_function_writes_what_the_command_writes(run, file, tmp_path, options, arguments):
    scored = run(**options)
    assert len(scored) == 4
    assert pd.read_csv(tmp_path / "scores" / "scores.csv")["progress advantage"].notna().all()
    models = [f"--{name}={folder}" for name, folder in FOLDERS.items()]
    other = tmp_path / "by the command"
    assert main(["score", str(file), "-o", str(other), *models, *arguments]) == 0
    names = ["manifest.json", "scores-000-of-001.jsonl", "scores.csv"]
    assert filecmp.cmpfiles(tmp_path / "scores", other, names, shallow=False)[0] == names


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({"seams": "cut"}, "give a prompt_format"),
        ({"merge": "ties"}, "`merge` is only for scoring with an `alpha` above 0"),
        ({"alpha": 0.5, "density": 0.1}, "`density` is only for scoring with `merge` ties or dare"),
        ({"alpha": 0.5, "seed": 0}, "`seed` is only for scoring with `merge` dare"),
        ({"reference": None, "alpha": 0.5}, "`alpha` is only for scoring with a `reference`"),
    ],
)
def test_options_that_would_be_ignored_are_refused(run, tmp_path, options, needed):
    with pytest.raises(ValueError, match=needed):
        run(**options)
    assert not (tmp_path / "scores").exists()


def test_another_prompt_format_than_that_of_the_collection_is_refused(run, file):
    (file.parent / "manifest.json").write_text('{"policy.dialect": "words"}')
    with pytest.raises(ValueError, match="prompt format words, and would be read in harness"):
        run(prompt_format=Harness())


def test_without_a_reference_there_are_baselines_alone(run):
    assert run(reference=None).reference is None
