"""The pages: their commands parse, their links lead somewhere, their Python runs."""

import ast
import importlib
import re
import shlex
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from lib.__main__ import make_parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "lib" / "README.md",
    *sorted((ROOT / "notebooks").rglob("*.md")),
    *sorted((ROOT / "data").rglob("README.md")),
]
RUNS = "<!-- runs -->\n"
"""Stands before the Python blocks that a test runs."""


def name_of(page):
    return str(page.relative_to(ROOT))


def fenced(page):
    """(language, text, whether it is marked to run) of every fenced block of a page."""
    text = page.read_text(encoding="utf-8")
    pattern = rf"({re.escape(RUNS)})?^```(\w*)\n(.*?)^```$"
    for marked, language, block in re.findall(pattern, text, re.DOTALL | re.MULTILINE):
        yield language, block, bool(marked)


def commands(page):
    """The arguments of each `python -m lib ...` of a page, but of those with an ellipsis."""
    for language, block, _ in fenced(page):
        if language:
            continue
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[1:3] == ["-m", "lib"] and words[0].endswith("python") and "..." not in words:
                yield words[3:]


COMMANDS = [(name_of(page), words) for page in PAGES for words in commands(page)]
BLOCKS = [
    pytest.param(block, marked, id=f"{name_of(page)}-{number}")
    for page in PAGES
    for number, (language, block, marked) in enumerate(fenced(page))
    if language == "python"
]


def test_the_readme_is_short():
    assert (ROOT / "README.md").stat().st_size < 9000


def test_every_command_is_shown_by_some_page():
    assert {words[0] for _, words in COMMANDS} >= {"batch", "collect", "report", "score", "train"}


@pytest.mark.parametrize(
    "words", [pytest.param(words, id=f"{page}-{' '.join(words)}") for page, words in COMMANDS]
)
def test_commands_parse(words):
    make_parser().parse_args(words)


def test_collections_of_bfcl_have_the_temperature_of_the_paper():
    decoding = pd.read_csv(ROOT / "data" / "published" / "decoding.csv", index_col="benchmark")
    parsed = [make_parser().parse_args(words) for _, words in COMMANDS if words[0] == "collect"]
    shown = {a.temperature for a in parsed if a.environment.startswith("bfcl:")}
    assert shown == {decoding.loc["bfcl", "temperature"]}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_pictures_exist(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    targets = [target.partition("#")[0] for target in targets if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_functions_of_the_journeys_are_where_they_are_said_to_be():
    text = (ROOT / "lib" / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"`([\w/]+\.py): (\w+)`", text)
    assert len(shown) > 20
    for path, name in shown:
        tree = ast.parse((ROOT / "lib" / path).read_text(encoding="utf-8"))
        assert name in {getattr(node, "name", None) for node in ast.walk(tree)}, (path, name)


@pytest.mark.parametrize(("block", "marked"), BLOCKS)
def test_python_blocks(block, marked, monkeypatch):
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Import):
            for module in node.names:
                importlib.import_module(module.name)
        elif isinstance(node, ast.ImportFrom):
            for imported in node.names:
                exec(f"from {node.module} import {imported.name}", {})
    if marked:
        monkeypatch.chdir(ROOT)
        with plt.rc_context():
            exec(compile(block, "<block>", "exec"), {})
        plt.close("all")
