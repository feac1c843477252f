"""`python -m lib train`: a model folder in, a trained one out."""

import json
import re
import shutil
import sys

import pytest
import torch

from lib.__main__ import main
from lib.envs import open_environment
from lib.envs.grid import GridEpisode
from lib.generation import load
from lib.training import defaults, read_log
from lib.training.pretraining import new_model

FEW = ["--steps", "2", "--groups", "2", "--group-size", "2", "--tasks", "4", "--max-new-tokens"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An untrained model of the lab."""
    made = tmp_path_factory.mktemp("models") / "base"
    for part in new_model(open_environment("sokoban").words(), "0.06M"):
        part.save_pretrained(made)
    return made


def test_a_model_is_trained_and_saved(folder, tmp_path, capsys):
    out = tmp_path / "ptgs"
    command = ["train", str(folder), "sokoban", "-o", str(out), *FEW, "4"]
    assert main([*command, "--schedule", "ptgs", "--reward", "return"]) == 0
    assert f"{out / 'model'}: 2 steps, success 0.000" in capsys.readouterr().out
    log = read_log(out / "steps.jsonl")
    assert {len(line["groups"]) for line in log} == {2}
    model, tokenizer = load(out / "model")
    assert len(tokenizer) == model.config.vocab_size

    yoked = ["--schedule", "yoked", "--log", str(out / "steps.jsonl"), "--algorithm", "ppo"]
    out = tmp_path / "yoked"
    assert main(["train", str(folder), "sokoban", "-o", str(out), *FEW, "4", *yoked]) == 0
    means = [line["temperature"]["mean"] for line in read_log(out / "steps.jsonl")]
    assert means == pytest.approx([line["temperature"]["mean"] for line in log])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--schedule", "shuffled"], "give its step log, RUN/steps.jsonl, as --log"),
        (["--schedule", "ptgs", "--tau", "0.5"], "--tau is 0.5"),
        (["--group-size", "1"], "--group-size is 1"),
        (["--learning-rate", "inf"], "--learning-rate is inf: it must be a finite number"),
        (["--kl-weight", "inf"], "--kl-weight is inf: it must be a finite number"),
        (["--parser", "exact"], "--parser is 'exact', but the prompt format words"),
        (["--tau", "1.2"], "--tau is only with the schedule ptgs, here it is fixed"),
        (["--log", "steps.jsonl"], "--log is only with the schedule yoked or shuffled"),
        (["--schedule", "yoked", "--log", "."], "no step log at .: it is a folder, give the file"),
        (["--temperature", "0"], "--temperature is 0.0: it must be a finite number above 0"),
        (["--thinking"], "--thinking is a switch of chat templates"),
    ],
)
def test_bad_options_are_named(folder, tmp_path, capsys, options, said):
    command = ["train", str(folder), "sokoban", "-o", str(tmp_path), *FEW, "4", *options]
    assert main(command) == 2
    assert said in capsys.readouterr().err


def test_the_first_tasks_are_the_pool(folder, tmp_path, capsys):
    command = ["train", str(folder), "sokoban", "-o", str(tmp_path), *FEW, "4"]
    assert main(command) == 0
    pool = json.loads((tmp_path / "run.json").read_text())["world"]["tasks"]
    assert pool == open_environment("sokoban", "train", 200).tasks()[:4]
    assert main([*command, "--tasks", "5"]) == 2
    assert "begun with world tasks = a list of 4, now it is a list of 5" in capsys.readouterr().err
    assert main([*command, "--tasks", "1"]) == 2
    assert "2 groups a step from a pool of 1 tasks: give more tasks" in capsys.readouterr().err


def test_a_benchmark_with_fewer_tasks_says_how_many(folder, tmp_path, capsys):
    pytest.importorskip("bfcl_eval", reason="BFCL is not installed: make benchmarks")
    command = ["train", str(folder), "bfcl:multi_turn_base", "-o", str(tmp_path), *FEW, "4"]
    assert main([*command, "--tasks", "99999"]) == 2
    assert re.search(
        r"--tasks is 99999, but \S+ has \d+ tasks: give no more", capsys.readouterr().err
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_who_trains_on_held_out_tasks_is_told(folder, tmp_path, capsys):
    assert main(["train", str(folder), "sokoban:test", "-o", str(tmp_path), *FEW, "4"]) == 0
    assert "sokoban:test are the held-out tasks" in capsys.readouterr().err


def test_an_interrupted_run_says_what_goes_on(folder, tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("lib.training.train", interrupted)
    assert main(["train", str(folder), "sokoban", "-o", str(tmp_path), *FEW, "4"]) == 130
    assert "the same command goes on from the last checkpoint" in capsys.readouterr().err


def test_help_says_the_defaults_that_hold(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for name in ("steps", "groups", "group-size", "minibatch", "microbatch", "max-new-tokens",
                 "max-turns", "entropy-bonus", "kl-weight", "filter-mass"):  # fmt: skip
        (said,) = re.findall(rf"--{name} [A-Z_]+ [^-(]*\(default: ([^)]*)\)", told)
        field = "rows_at_once" if name == "microbatch" else name.replace("-", "_")
        assert float(said) == getattr(defaults("grpo"), field)
    for algorithm in ("grpo", "ppo"):
        assert f"{defaults(algorithm).learning_rate:.0e}".replace("e-0", "e-") in told


def test_a_gpu_that_is_not_there_is_named(folder, tmp_path, capsys):
    assert main(["train", str(folder), "sokoban", "-o", str(tmp_path), "--gpu"]) == 2
    assert "--gpu: torch finds no GPU here" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--lora", "0"], ["--tasks", "-5"]])
def test_a_count_that_is_none_says_what_it_takes(folder, tmp_path, capsys, option):
    with pytest.raises(SystemExit):
        main(["train", str(folder), "sokoban", "-o", str(tmp_path), "=".join(option)])
    assert f"expected a whole number from 1 up, got '{option[1]}'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "collect"])
def test_a_model_of_another_world_is_refused_by_a_word(folder, tmp_path, capsys, command):
    words = ["--prompt-format", "words"]
    named = [str(folder), "desk"] if command == "train" else ["desk", str(folder)]
    assert main([command, *named, "-o", str(tmp_path), *words]) == 2
    assert "the model's vocabulary has no word" in capsys.readouterr().err


def test_a_model_that_knows_none_of_the_words_it_is_told_is_not_graded(folder, tmp_path, capsys):
    command = ["collect", "sokoban:test", str(folder), "--tasks", "1", "-n", "1"]
    assert main([*command, "-o", str(tmp_path)]) == 2
    assert "tokens of a prompt are unknown to the model" in capsys.readouterr().err


DAMAGES = {
    "model.safetensors": lambda path: path.write_bytes(path.read_bytes()[:-99]),
    "config.json": lambda path: path.write_text("{"),
    "tokenizer.json": lambda path: path.unlink(),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_model_is_named_by_its_folder(folder, tmp_path, name):
    copy = shutil.copytree(folder, tmp_path / "copy")
    DAMAGES[name](copy / name)
    with pytest.raises(ValueError, match=rf"the model in {copy} cannot be loaded"):
        load(copy)


def test_without_peft_the_command_that_installs_it_is_named(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    command = ["train", str(folder), "sokoban", "-o", str(tmp_path), *FEW, "4", "--lora", "4"]
    assert main(command) == 2
    assert "pip install peft" in capsys.readouterr().err


def test_a_run_in_which_nothing_is_graded_says_so(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(GridEpisode, "step", lambda self, reply: 1 / 0)
    assert main(["train", str(folder), "sokoban", "-o", str(tmp_path), *FEW, "4"]) == 0
    assert "2 steps, no attempt could be graded" in capsys.readouterr().out


def test_a_model_of_nan_is_named(folder, tmp_path, capsys):
    model, tokenizer = load(folder)
    with torch.no_grad():
        next(model.parameters()).fill_(torch.nan)
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "nan")
    out = ["-o", str(tmp_path / "run")]
    assert main(["train", str(tmp_path / "nan"), "sokoban", *out, *FEW, "4"]) == 2
    assert "error: the model's logits hold NaN" in capsys.readouterr().err


def test_an_unknown_world_is_named(folder, tmp_path, capsys):
    assert main(["train", str(folder), "chess", "-o", str(tmp_path)]) == 2
    assert "there is no environment 'chess'" in capsys.readouterr().err
