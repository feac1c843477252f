"""`training.train`: a model in, a folder with the step log and the trained model out."""

import copy

import pytest
import torch

from lib import training
from lib.generation import load
from lib.rollouts.prompts.word_language import WordLanguage
from tests import buttons, lettered
from tests.lettered_runs import ENVIRONMENT, SMALL

SETTINGS = training.defaults("grpo", **SMALL | {"steps": 2}, learning_rate=1e-3)


def train(model, out, **options):
    options = {"prompt_format": lettered.PROMPT_FORMAT, "settings": SETTINGS, **options}
    return training.train(model, ENVIRONMENT, out, progress=False, **options)


def test_a_loaded_model_is_trained_in_place_and_saved(base, tmp_path):
    model = copy.deepcopy(base)
    log = train((model, lettered.TOKENIZER), tmp_path)
    saved, tokenizer = load(tmp_path / "model")
    assert [line["step"] for line in log] == [1, 2]
    assert len(tokenizer) == len(lettered.TOKENIZER)
    for mine, start, kept in zip(
        model.parameters(), base.parameters(), saved.parameters(), strict=True
    ):
        assert torch.equal(mine, kept)
        assert not torch.equal(mine, start)


def test_a_folder_gives_the_same_weights_as_a_loaded_model(base, tmp_path):
    for part in (base, lettered.TOKENIZER):
        part.save_pretrained(tmp_path / "base")
    train(tmp_path / "base", tmp_path / "a")
    train((copy.deepcopy(base), lettered.TOKENIZER), tmp_path / "b")
    pairs = (load(tmp_path / name / "model")[0].parameters() for name in "ab")
    assert all(torch.equal(*pair) for pair in zip(*pairs, strict=True))


def test_a_prompt_format_can_be_made_from_the_tokenizer(base, tmp_path):
    given = []

    def prompt_format(tokenizer):
        given.append(tokenizer)
        return lettered.PROMPT_FORMAT

    train((copy.deepcopy(base), lettered.TOKENIZER), tmp_path, prompt_format=prompt_format)
    assert given == [lettered.TOKENIZER]


def test_the_word_language_needs_an_environment_with_words(base, tmp_path):
    with pytest.raises(
        ValueError, match="the prompt_format words is for the environments of the lab"
    ):
        training.train(
            (base, lettered.TOKENIZER), buttons.Buttons(), tmp_path, prompt_format=WordLanguage()
        )
