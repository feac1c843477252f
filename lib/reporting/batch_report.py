"""The pages about a batch: `claims.md`, and `report.html` with findings, figures and failures."""

import io
import re
import sys
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lib.claims import finding, grouped
from lib.claims.questions import counted
from lib.reporting.notebook_batch import Result
from lib.reporting.notebook_claims import (
    COLUMNS,
    by_notebook,
    claims_markdown,
    collect_claims,
    outputs,
)
from lib.reporting.notebook_parameters import read_notebook
from lib.reporting.templates import render

THUMBNAIL = 480
"""Pixels, the width of a figure on the page; the notebooks' own pages have them whole."""
HERO = "crossover"
"""Key of the question that the picture at the top of the page is about."""
LONGEST_LINE = 240


def write_pages(results: Sequence[Result], out: str | Path) -> Path:
    """Write `claims.md` and `report.html` about these results into the folder `out`.

    Returns the path of `report.html`, which needs no other file and no network; it shows figures
    small, and links to each notebook's own page. Claims that cannot be read are listed on the page
    and on standard error.
    """
    out = Path(out)
    written = [result.notebook for result in results if result.notebook.is_file()]
    claims, left_out = collect_claims(written)
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    _write(out / "claims.md", claims_markdown(claims))
    sections = _named([_section(result) for result in results])
    page = render(
        "batch_report.html",
        summary=counted(claims) if claims else "",
        questions=[_question(group, sections) for group in grouped(claims)],
        left_out=left_out,
        columns=COLUMNS,
        sections=sections,
        hero=_hero(sections, claims),
    )
    report = out / "report.html"
    _write(report, page)
    return report


def _write(path, text):
    # The JSON of a notebook may hold half a character (a lone surrogate), which is not UTF-8.
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def _question(group, sections) -> dict:
    """A question with the answer that each notebook gives, by the name of its entry."""
    names = {section["result"].notebook.name: section["name"] for section in sections}
    answers = [
        (names.get(notebook, notebook), *finding(rows, most=4))
        for notebook, rows in by_notebook(group.rows).items()
        if group.key  # claims of no known question share no answer
    ]
    return {
        "text": group.question,
        "answers": answers,
        "rows": group.rows,
        "counted": counted(group.rows),
    }


def _section(result) -> dict:
    """What the page shows of one result; a notebook that was never written has only its failure."""
    try:
        cells = read_notebook(result.notebook).cells
    except (FileNotFoundError, ValueError):  # never written, or torn when its worker was killed
        cells = []
    return {
        "result": result,
        "title": next((text for level, text in _headings(cells) if level == 1), None),
        "line": _first_sentence(cells),
        "written": result.notebook.is_file(),
        "rendered": result.notebook.with_suffix(".html"),
        "figures": _figures(cells),
    }


def _named(sections: list[dict]) -> list[dict]:
    """The sections, each with a name of its own: the title, and what tells apart equal titles."""
    titles = Counter(section["title"] for section in sections)
    names: set[str] = set()
    for section in sections:
        entry = section["result"].entry
        name = section["title"] or entry.name
        if titles[section["title"]] > 1 and section["title"]:
            apart = _apart(entry.parameters)
            name += f" ({apart})" if apart else ""
        if name in names:
            name += f" [{entry.name}]"
        names.add(name)
        section["name"] = name
    return sections


def _apart(parameters: Mapping) -> str:
    """The parameters of an entry in words, but for the folder of its figures."""
    shown = {key: value for key, value in parameters.items() if key != "figures_dir"}
    return ", ".join(f"{key}: {value}" for key, value in shown.items())


def _hero(sections, claims) -> dict | None:
    """The picture at the top: the paper's example where the batch measures it, else a first figure.

    It is measured where a notebook answers `HERO` on the published counts.
    """
    answering = {row["notebook"] for row in claims if row.get("question") == HERO}
    for section in sections:
        entry, notebook = section["result"].entry, section["result"].notebook
        source = entry.parameters.get("source", "published")
        if notebook.name in answering and source == "published":
            return _opening_picture()
    drawn = [section for section in sections if section["figures"]]
    if not drawn:
        return None
    return drawn[0]["figures"][0] | {"words": f"From {drawn[0]['name']}"}


def _opening_picture() -> dict:
    import matplotlib.pyplot as plt

    from lib.reporting.front_page import opening_picture, opening_study

    file = io.BytesIO()
    with plt.rc_context():
        figure = opening_picture(opening_study())
        figure.savefig(file, format="png", bbox_inches="tight", metadata={"Software": None})
        plt.close(figure)
    source = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
    words = "One comparison of the paper, from its published counts; the bands are 95 % intervals"
    return {"source": source, "caption": "Coverage against attempts", "words": words}


def _figures(cells) -> list[dict]:
    """Every picture among the cells' outputs, with the heading and the text before it."""
    figures = []
    for number, cell in enumerate(cells):
        for output in outputs([cell]):
            png = output.get("data", {}).get("image/png")
            if isinstance(png, str):
                headings = [text for _, text in _headings(cells[:number])]
                whole = "".join(png.split())
                figures.append(
                    {
                        "source": f"data:image/png;base64,{whole}",
                        "small": f"data:image/png;base64,{_small(whole)}",
                        "caption": headings[-1] if headings else "",
                        "words": _text_before(cells[:number]),
                    }
                )
    return figures


def _small(png: str, width: int = THUMBNAIL) -> str:
    """A picture at the width of the page's thumbnails, both in base64; unreadable ones stay."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(b64decode(png))) as picture:
            shown = picture.convert("RGB")
    except (UnidentifiedImageError, ValueError, OSError):
        return png
    if shown.width > width:
        height = max(1, round(width * shown.height / shown.width))
        shown = shown.resize((width, height), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    shown.quantize(64).save(file, "PNG", optimize=True)
    return b64encode(file.getvalue()).decode()


def _first_sentence(cells) -> str:
    """What a notebook says of itself first: the sentence below its title, without marks."""
    for cell in cells:
        if cell.cell_type == "markdown" and re.search(r"^#\s", cell.source, re.MULTILINE):
            below = re.split(r"^#\s.*$", cell.source, maxsplit=1, flags=re.MULTILINE)[1]
            paragraph = _plain(next((part for part in below.strip().split("\n\n") if part), ""))
            sentence = re.match(r".+?[.?!](?=\s|$)", paragraph)
            line = sentence[0] if sentence else paragraph
            return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE].rstrip()}..."
    return ""


def _plain(text) -> str:
    """Markdown on one line, without its marks and the addresses of its links."""
    text = re.sub(r"<[^>]+>", "", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"(?<!\\)[*`]|\\(?=[*_`])", "", text).split())


def _text_before(cells) -> str:
    """The text, without Markdown's marks, from the last heading to the end of these cells."""
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return _plain(re.split(r"^#{1,6}\s.*$", text, flags=re.MULTILINE)[-1])


def _headings(cells) -> Iterator[tuple[int, str]]:
    """(level, text without Markdown's marks) of the headings in these cells."""
    for cell in cells:
        if cell.cell_type == "markdown":
            for marks, text in re.findall(r"^(#{1,6})\s+(.+?)\s*#*$", cell.source, re.MULTILINE):
                yield len(marks), re.sub(r"[*`]", "", text)
