"""What a batch shows: the claims its notebooks found, as a table, and one page with every figure.

A notebook states its claims by displaying an object whose outputs include the type
``lib.claims.MIME``: a list of dictionaries of display strings, with the keys of :data:`COLUMNS`.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import jinja2
import nbformat

from lib.batch import Result
from lib.claims import MIME

COLUMNS = {
    "claim": "Claim",
    "value": "Here",
    "interval": "95 % interval",
    "published": "Published",
    "verdict": "Verdict",
    "why": "Why",
}
"""Key of a claim's dictionary -> heading of its column."""

BEGIN, END = "<!-- claims:begin -->", "<!-- claims:end -->"


def collect_claims(notebooks: Iterable) -> list[dict]:
    """Every claim displayed in the executed notebooks at these paths, in order.

    ValueError names the notebook and what is missing from a claim that lacks one of its strings.
    """
    claims = []
    for notebook in notebooks:
        for output in _outputs(nbformat.read(notebook, as_version=4).cells):
            for claim in output.get("data", {}).get(MIME, []):
                wrong = [key for key in COLUMNS if not isinstance(claim.get(key), str)]
                if wrong:
                    raise ValueError(
                        f"{notebook}: the claim {claim.get('claim')!r} must have a text for "
                        f"{', '.join(wrong)}"
                    )
                claims.append({key: claim[key] for key in COLUMNS})
    return claims


def claims_markdown(claims: Sequence[dict]) -> str:
    """The claims as a Markdown table, a row each."""
    rows = [list(COLUMNS.values()), ["---"] * len(COLUMNS)]
    rows += [[_cell(claim[key]) for key in COLUMNS] for claim in claims]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(text):
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


def with_claims(text: str, claims: Sequence[dict]) -> str:
    """The Markdown ``text`` with the table of ``claims`` between its two markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"the text must hold {BEGIN} and, after it, {END}, once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n{claims_markdown(claims)}{END}{after}"


def write_pages(results: Sequence[Result], out) -> Path:
    """Write ``claims.md`` and ``report.html`` about these results into ``out``.

    Returns the path of ``report.html``; its pictures are part of it.
    """
    out = Path(out)
    written = [result.notebook for result in results if result.notebook.is_file()]
    claims = collect_claims(written)
    (out / "claims.md").write_text(claims_markdown(claims), encoding="utf-8")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("batch_page.html").render(
        claims=claims, columns=COLUMNS, sections=[_section(result) for result in results]
    )
    report = out / "report.html"
    report.write_text(page, encoding="utf-8")
    return report


def _section(result):
    """What the page says of one result; a notebook that never got written has only its failure."""
    cells = []
    if result.notebook.is_file():
        cells = nbformat.read(result.notebook, as_version=4).cells
    return {
        "result": result,
        "title": next((text for level, text in _headings(cells) if level == 1), None),
        "written": result.notebook.is_file(),
        "rendered": result.notebook.with_suffix(".html"),
        "figures": _figures(cells),
    }


def _figures(cells):
    """Every picture among the cells' outputs, captioned by the heading that stands before it."""
    figures = []
    for number, cell in enumerate(cells):
        for output in _outputs([cell]):
            if png := output.get("data", {}).get("image/png"):
                headings = [text for _, text in _headings(cells[:number])]
                caption = headings[-1] if headings else ""
                source = f"data:image/png;base64,{''.join(png.split())}"
                figures.append({"source": source, "caption": caption})
    return figures


def _outputs(cells):
    return [output for cell in cells for output in cell.get("outputs", [])]


def _headings(cells):
    """(level, text without marks) of the Markdown headings in these cells."""
    for cell in cells:
        if cell.cell_type == "markdown":
            for marks, text in re.findall(r"^(#{1,6})\s+(.+?)\s*#*$", cell.source, re.MULTILINE):
                yield len(marks), re.sub(r"[*`]", "", text)
