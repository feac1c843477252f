"""Models from files: safetensors folders, GGUF through a cache, nothing that can run code."""

import gguf
import pytest
import torch
import transformers

from lib.generation import limit_threads, load, models


@pytest.fixture
def folder(llama, tokenizer, tmp_path):
    llama.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_a_safetensors_folder_loads(folder, llama, prompt):
    model, tokenizer = load(folder)
    tokens = torch.tensor([prompt(9)])
    assert not model.training
    assert torch.equal(model(tokens).logits, llama(tokens).logits)
    assert tokenizer.decode([3, 4]) == "ab"


def test_nothing_at_the_path_is_an_error_that_says_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="hf download NAME"):
        load(tmp_path / "absent")


def test_pickled_weights_are_refused(folder, llama):
    (folder / "model.safetensors").unlink()
    torch.save(llama.state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"holds no safetensors weights.*can run code"):
        load(folder)


@pytest.fixture
def gguf_file(tmp_path, llama):
    """The tiny llama, written as llama.cpp's files are, with a small vocabulary of its own."""
    path, config = tmp_path / "tiny.gguf", llama.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*(chr(ord("0") + i) for i in range(config.vocab_size - 1)), "01"])
    writer.add_token_types([gguf.TokenType.NORMAL] * config.vocab_size)
    writer.add_token_merges(["0 1"])
    writer.add_eos_token_id(2)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, tensor in llama.state_dict().items():
        stored = names.get_name(name, try_suffixes=(".weight",))
        writer.add_tensor(stored, tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_gguf_loads_as_transformers_reads_it(gguf_file, tmp_path, prompt):
    source = {"pretrained_model_name_or_path": tmp_path, "gguf_file": gguf_file.name}
    expected = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    model, tokenizer = load(gguf_file, cache=tmp_path / "cache")
    tokens = torch.tensor([prompt(9)])
    assert torch.allclose(model(tokens).logits, expected(tokens).logits, atol=1e-6)
    assert tokenizer.decode([1, 5]) == "15"


def test_gguf_is_converted_once(gguf_file, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    load(gguf_file, cache=cache)
    monkeypatch.delattr(transformers.AutoModelForCausalLM, "from_config")
    load(gguf_file, cache=cache)
    assert len(list(cache.iterdir())) == 1


def test_a_changed_gguf_file_is_converted_anew(gguf_file, tmp_path):
    cache = tmp_path / "cache"
    before = models.convert_gguf(gguf_file, cache)
    content = bytearray(gguf_file.read_bytes())
    content[-4:] = b"\x00\x00\x80\x3f"
    gguf_file.write_bytes(content)
    assert models.convert_gguf(gguf_file, cache) != before


def test_an_interrupted_conversion_leaves_nothing(gguf_file, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(transformers.PreTrainedModel, "save_pretrained", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load(gguf_file, cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_gguf_without_a_cache_folder_is_an_error(gguf_file):
    with pytest.raises(ValueError, match=r"load\(cache=\.\.\.\)"):
        load(gguf_file)


def test_a_run_is_not_its_model_but_names_it(folder):
    with pytest.raises(ValueError, match=f"give {folder}"):
        load(folder.parent)


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def test_a_small_model_is_run_on_one_thread(llama, two_threads):
    limit_threads(llama)
    assert torch.get_num_threads() == 1


def test_who_names_threads_gets_them(llama, two_threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    limit_threads(llama)
    assert torch.get_num_threads() == 2


def test_a_large_model_keeps_its_threads(llama, two_threads, monkeypatch):
    monkeypatch.setattr(models, "SMALL", 1)
    limit_threads(llama)
    assert torch.get_num_threads() == 2
