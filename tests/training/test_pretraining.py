"""Pre-training: corpora of mixed behaviour, a falling loss, exact resumption, folders that load."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest
import torch

from lib.envs import open_environment
from lib.generation import load
from lib.rollouts.prompts.word_language import CUE, UNKNOWN
from lib.training.pretraining import SIZES, STAGES, Corpus, Stage, episodes, new_model, pretrain

WORLD = open_environment("sokoban")
CORPUS = Corpus(native=0.5, levels=20, episodes=16)
SHORT = Stage(corpus=CORPUS, steps=8, learning_rate=3e-3, final_rate=1e-3)


def some(corpus, number=300, environment=WORLD):
    return list(itertools.islice(episodes(environment, corpus, random.Random(0)), number))


@pytest.mark.parametrize("size", SIZES)
def test_models_have_about_the_size_of_their_name(size):
    model, made = new_model(WORLD.words(), size)
    wanted = float(size.removesuffix("M")) * 1e6
    assert model.num_parameters() == pytest.approx(wanted, rel=0.12)
    assert model.config.vocab_size == len(made)


@pytest.mark.parametrize("environment", ["sokoban", "frozenlake", "desk"])
def test_a_corpus_is_told_in_known_words(environment):
    environment = open_environment(environment)
    _, made = new_model(environment.words(), "0.06M")
    ids = made(some(CORPUS, 100, environment), add_special_tokens=False)["input_ids"]
    assert made.convert_tokens_to_ids(UNKNOWN) not in {token for one in ids for token in one}
    assert max(map(len, ids)) < 256


def test_the_share_of_native_episodes_is_as_asked():
    quiet = replace(CORPUS, chatter=0.0, cued=0.0)
    for native in (0.0, 0.35, 1.0):
        found = sum(" [ move" in text for text in some(replace(quiet, native=native)))
        assert found / 300 == pytest.approx(native, abs=0.08)


def test_a_cue_is_kept():
    cued = [text for text in some(replace(CORPUS, cued=1.0)) if CUE in text]
    assert 100 < len(cued) < 200
    assert all(text.split().count(">") == text.count("[") for text in cued)


def test_every_form_is_met():
    starts = Counter(text.split(" > ")[1].split()[0] for text in some(CORPUS))
    assert {"[", "use", "move", "I"} <= starts.keys()


def test_the_loss_falls_and_the_folder_loads(tmp_path):
    model, made = new_model(WORLD.words(), "0.06M")
    log = pretrain(model, made, WORLD, replace(SHORT, steps=60), tmp_path / "m", progress=False)
    assert [row["step"] for row in log] == [20, 40, 60]
    assert log[-1]["loss"] < log[0]["loss"] - 0.5
    again, _ = load(tmp_path / "m")
    for name, tensor in again.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name])


def test_a_stopped_run_goes_on_exactly(tmp_path, monkeypatch):
    def run(name):
        model, made = new_model(WORLD.words(), "0.06M")
        pretrain(
            model, made, WORLD, SHORT, tmp_path / name / "m", checkpoint_every=0.0, progress=False
        )
        return model.state_dict()

    whole = run("whole")
    kept = torch.nn.utils.clip_grad_norm_
    calls = itertools.count(1)

    def killed(*arguments):
        if next(calls) == 5:
            raise KeyboardInterrupt
        return kept(*arguments)

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", killed)
    with pytest.raises(KeyboardInterrupt):
        run("stopped")
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", kept)
    resumed = run("stopped")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert [path.name for path in (tmp_path / "stopped").iterdir()] == ["m"]


def test_the_second_base_is_more_native_than_the_first():
    assert [stage.corpus.native for stage in STAGES.values()] == [0.35, 0.85]
