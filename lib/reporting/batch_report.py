"""The pages about a batch: `claims.md`, and `report.html` with every claim, figure and failure."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from lib.reporting.notebook_batch import Result
from lib.reporting.notebook_claims import COLUMNS, claims_markdown, collect_claims, outputs
from lib.reporting.notebook_parameters import read_notebook
from lib.reporting.templates import render


def write_pages(results: Sequence[Result], out: str | Path) -> Path:
    """Write `claims.md` and `report.html` about these results into the folder `out`.

    Returns the path of `report.html`, which holds its pictures itself. Claims that cannot be read
    are listed on that page and on standard error.
    """
    out = Path(out)
    written = [result.notebook for result in results if result.notebook.is_file()]
    claims, left_out = collect_claims(written)
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    _write(out / "claims.md", claims_markdown(claims))
    page = render(
        "batch_report.html",
        claims=claims,
        left_out=left_out,
        columns=COLUMNS,
        sections=[_section(result) for result in results],
    )
    report = out / "report.html"
    _write(report, page)
    return report


def _write(path, text):
    # The JSON of a notebook may hold half a character (a lone surrogate), which is not UTF-8.
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def _section(result):
    """What the page shows of one result; a notebook that was never written has only its failure."""
    try:
        cells = read_notebook(result.notebook).cells
    except (FileNotFoundError, ValueError):  # never written, or torn when its worker was killed
        cells = []
    return {
        "result": result,
        "title": next((text for level, text in _headings(cells) if level == 1), None),
        "written": result.notebook.is_file(),
        "rendered": result.notebook.with_suffix(".html"),
        "figures": _figures(cells),
    }


def _figures(cells):
    """Every picture among the cells' outputs, with the heading and the text before it."""
    figures = []
    for number, cell in enumerate(cells):
        for output in outputs([cell]):
            png = output.get("data", {}).get("image/png")
            if isinstance(png, str):
                headings = [text for _, text in _headings(cells[:number])]
                figures.append(
                    {
                        "source": f"data:image/png;base64,{''.join(png.split())}",
                        "caption": headings[-1] if headings else "",
                        "words": _text_before(cells[:number]),
                    }
                )
    return figures


def _text_before(cells) -> str:
    """The text, without Markdown's marks, from the last heading to the end of these cells."""
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    text = re.split(r"^#{1,6}\s.*$", text, flags=re.MULTILINE)[-1]
    return re.sub(r"(?<!\\)[*`]|\\(?=[*_`])", "", text).strip()


def _headings(cells) -> Iterator[tuple[int, str]]:
    """(level, text without Markdown's marks) of the headings in these cells."""
    for cell in cells:
        if cell.cell_type == "markdown":
            for marks, text in re.findall(r"^(#{1,6})\s+(.+?)\s*#*$", cell.source, re.MULTILINE):
                yield len(marks), re.sub(r"[*`]", "", text)
