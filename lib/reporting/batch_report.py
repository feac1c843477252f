"""What a batch shows: the claims its notebooks found, as a table, and one page with every figure.

A notebook states its claims by displaying an object whose outputs include the type
``lib.claims.MIME``: a list of dictionaries of display strings, with the keys of :data:`COLUMNS`.
"""

import html
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import jinja2

from lib.claims import MIME
from lib.reporting.notebook_batch import Result
from lib.reporting.notebook_parameters import read_notebook

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


def collect_claims(notebooks: Iterable) -> tuple[list[dict], list[str]]:
    """Every claim displayed in the executed notebooks at these paths, in order.

    Beside the claims comes a line for all that was left out: a notebook that cannot be read, and
    what is displayed as a claim but is not one, each with its notebook and what it lacks.
    """
    claims, left_out = [], []
    for notebook in map(Path, notebooks):
        try:
            outputs = _outputs(read_notebook(notebook).cells)
        except ValueError as error:
            left_out.append(str(error))
            continue
        for shown in (output["data"][MIME] for output in outputs if MIME in output.get("data", {})):
            if not isinstance(shown, list):
                left_out.append(
                    f"{notebook.name}: expected a list of claims, found {_short(shown)}"
                )
                continue
            for claim in shown:
                if wrong := _lacking(claim):
                    left_out.append(
                        f"{notebook.name}: a claim must have a text for {', '.join(wrong)}, "
                        f"found {_short(claim)}"
                    )
                else:
                    claims.append({key: claim[key] for key in COLUMNS})
    return claims, left_out


def _lacking(claim):
    texts = claim if isinstance(claim, dict) else {}
    return [key for key in COLUMNS if not isinstance(texts.get(key), str)]


def _short(value):
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def claims_markdown(claims: Sequence[dict]) -> str:
    """The claims as a Markdown table, a row each."""
    rows = [list(COLUMNS.values()), ["---"] * len(COLUMNS)]
    rows += [[_cell(claim[key]) for key in COLUMNS] for claim in claims]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


MARKUP = re.compile(r"[\\|`\[$&<>]|[*~](?=\S)|(?<![^\W_])_|_(?![^\W_])")
"""Characters of a text that Markdown, as GitHub reads it, would take for marks where they stand.

A star before a space and an underscore within a word open nothing: `k* = 3` and `Tax_S` stay.
"""


def _cell(text):
    """The text, on one line, as Markdown that shows just it."""

    def shown(mark):
        return html.escape(mark[0]) if mark[0] in "&<>" else f"\\{mark[0]}"

    return MARKUP.sub(shown, " ".join(text.split()))


def with_claims(text: str, claims: Sequence[dict]) -> str:
    """The Markdown ``text`` with the table of ``claims`` between its two markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"the text must hold {BEGIN} and, after it, {END}, once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n{claims_markdown(claims)}{END}{after}"


def write_pages(results: Sequence[Result], out) -> Path:
    """Write ``claims.md`` and ``report.html`` about these results into ``out``.

    Returns the path of ``report.html``; its pictures are part of it. What was left out of the
    claims is said there and on standard error.
    """
    out = Path(out)
    written = [result.notebook for result in results if result.notebook.is_file()]
    claims, left_out = collect_claims(written)
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    _write(out / "claims.md", claims_markdown(claims))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("batch_report.html").render(
        claims=claims,
        left_out=left_out,
        columns=COLUMNS,
        sections=[_section(result) for result in results],
    )
    report = out / "report.html"
    _write(report, page)
    return report


def _write(path, text):
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # JSON holds torn characters


def _section(result):
    """What the page says of one result; a notebook that never got written has only its failure."""
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
    """Every picture among the cells' outputs, with the heading before it and its words."""
    figures = []
    for number, cell in enumerate(cells):
        for output in _outputs([cell]):
            png = output.get("data", {}).get("image/png")
            if isinstance(png, str):
                headings = [text for _, text in _headings(cells[:number])]
                source = f"data:image/png;base64,{''.join(png.split())}"
                figures.append(
                    {
                        "source": source,
                        "caption": headings[-1] if headings else "",
                        "words": _words_before(cells[:number]),
                    }
                )
    return figures


def _words_before(cells):
    """The text, without marks, from the last heading to the end of these cells."""
    told = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    told = re.split(r"^#{1,6}\s.*$", told, flags=re.MULTILINE)[-1]
    return re.sub(r"(?<!\\)[*`]|\\(?=[*_`])", "", told).strip()


def _outputs(cells):
    return [output for cell in cells for output in cell.get("outputs", [])]


def _headings(cells):
    """(level, text without marks) of the Markdown headings in these cells."""
    for cell in cells:
        if cell.cell_type == "markdown":
            for marks, text in re.findall(r"^(#{1,6})\s+(.+?)\s*#*$", cell.source, re.MULTILINE):
                yield len(marks), re.sub(r"[*`]", "", text)
