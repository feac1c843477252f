"""Loading a causal language model and its tokenizer from files, safely and once."""

import hashlib
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

SMALL = 8_000_000
"""Parameters below which a model is run on one thread."""


def load(
    path: str | Path,
    *,
    cache: str | Path | None = None,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    trust_remote_code: bool = False,
):
    """The causal language model at ``path``, in evaluation mode, and its tokenizer.

    Parameters
    ----------
    path : a folder with ``config.json`` and safetensors weights, as ``save_pretrained`` and
        ``hf download`` write it, or a ``.gguf`` file.
    cache : folder for converted GGUF files, needed for those alone. De-quantising takes long, so it
        is done once; the copy is found again by the content of the file.
    trust_remote_code : run Python that comes with the model; off unless you have read that code.

    Raises
    ------
    FileNotFoundError
        if there is nothing at ``path``.
    ValueError
        if it holds no weights in a format that is only data, or a file of it is missing or damaged.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"no model at {path}: give a folder with config.json and safetensors weights (`hf "
            "download NAME --local-dir FOLDER` makes one), or a .gguf file"
        )
    if path.suffix == ".gguf":
        if cache is None:
            raise ValueError(
                f"{path} is GGUF: name a folder for the converted copy, load(cache=...)"
            )
        path = convert_gguf(path, Path(cache))
    elif any((path / "model").glob("*.safetensors")) and not any(path.glob("*.safetensors")):
        raise ValueError(f"{path} holds a model in a folder of its own: give {path / 'model'}")
    elif not path.is_dir() or not any(path.glob("*.safetensors")):
        raise ValueError(
            f"{path} holds no safetensors weights: only safetensors folders and .gguf files are "
            "loaded, because other formats can run code; convert it with save_pretrained"
        )
    common = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    weights = {"use_safetensors": True, "dtype": dtype}
    try:
        model = AutoModelForCausalLM.from_pretrained(path, **weights, **common)
        tokenizer = AutoTokenizer.from_pretrained(path, **common)
    except MemoryError:
        raise
    except Exception as error:  # each damage has an error of its own, few of which name the file
        raise ValueError(
            f"the model in {path} cannot be loaded, a file of it may be missing or damaged: "
            f"{type(error).__name__}: {error}"
        ) from error
    return model.to(device).eval(), tokenizer


def limit_threads(model) -> None:
    """One thread for a small model on the CPU, unless OMP_NUM_THREADS says how many.

    To such a model more threads give little, and beside other work each waits for the others: a
    training step of the lab's models then took 10 to 100 times as long.
    """
    if model.num_parameters() < SMALL and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)


def convert_gguf(path: Path, cache: Path) -> Path:
    """The folder in ``cache`` with the GGUF file's model and tokenizer as float32 safetensors.

    Made if it is not there yet; an interrupted conversion leaves nothing that looks finished.
    """
    if importlib.util.find_spec("gguf") is None:
        raise ModuleNotFoundError("reading GGUF needs a package: pip install gguf")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    target = cache / f"{path.stem}-{digest[:16]}"
    if target.exists():
        return target
    source = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    loaded = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    # As loaded it calls itself quantised and cannot be saved: its weights go into a plain model.
    del loaded.config.quantization_config
    model = AutoModelForCausalLM.from_config(loaded.config)
    model.load_state_dict(loaded.state_dict())
    model.generation_config = GenerationConfig()
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=cache))
    try:
        model.save_pretrained(unfinished)
        AutoTokenizer.from_pretrained(**source).save_pretrained(unfinished)
        os.replace(unfinished, target)
    except OSError:
        # Another process may have finished the same conversion first.
        if not target.exists():
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return target
