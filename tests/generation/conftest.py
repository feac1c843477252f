"""Tiny real models and a tiny real tokenizer, and the forward pass to compare with."""

import pytest
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

from lib.trajectories.schema import RolloutKey

CHARACTERS = "abcdefghijklmnopqrstuvwxyz .:\n`[]"
SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    """Models this small are faster on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def make_model(config, auto=AutoModelForCausalLM):
    """A model with random weights, large enough that attention and context matter."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return auto.from_config(config)


@pytest.fixture
def make():
    """Make a tiny model: ``make(ConfigClass, **changes)``."""
    return lambda kind, **changes: make_model(kind(**{**SIZES, **changes}))


@pytest.fixture(scope="session")
def llama():
    return make_model(LlamaConfig(**SIZES))


@pytest.fixture(scope="session")
def tokenizer():
    """One token a character, and `<end>`, id 2."""
    vocabulary = {"<pad>": 0, "<start>": 1, "<end>": 2}
    vocabulary |= {c: i for i, c in enumerate(CHARACTERS, start=len(vocabulary))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<pad>"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    inner.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>", pad_token="<pad>")


@pytest.fixture
def prompt():
    """``prompt(length, seed=0)``: a list of random token ids."""

    def draw(length, seed=0):
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(3, 64, (length,), generator=generator).tolist()

    return draw


@pytest.fixture
def keys():
    """``keys(n)``: n attempts at one task."""
    return lambda n, task="task": [RolloutKey(0, task, attempt) for attempt in range(n)]


@pytest.fixture
def full_forward():
    """``full_forward(model, context, completion, T)``: log-probs of the completion's tokens."""

    def score(model, context, completion, temperature=1.0):
        tokens = torch.tensor([context + completion])
        with torch.no_grad():
            logits = model(tokens, use_cache=False).logits[0, len(context) - 1 : -1]
        log_probs = (logits / temperature).log_softmax(-1)
        return log_probs.gather(1, tokens[0, len(context) :, None])[:, 0]

    return score
