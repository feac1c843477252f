"""The claims that executed notebooks show, collected and written as a Markdown table.

A notebook states its claims by displaying an object whose outputs include the type
`lib.claims.MIME`: a list of dictionaries of display strings, with the keys of `COLUMNS`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from lib.claims import MIME
from lib.reporting.notebook_parameters import read_notebook
from lib.reporting.templates import escape_markdown

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


def collect_claims(notebooks: Iterable[str | Path]) -> tuple[list[dict], list[str]]:
    """Every claim displayed in the executed notebooks at these paths, in order.

    Beside the claims comes a line for everything left out, with its notebook and what is wrong: a
    notebook that cannot be read, or an output of the type of claims that holds something else.
    """
    claims, left_out = [], []
    for notebook in map(Path, notebooks):
        try:
            cells = read_notebook(notebook).cells
        except ValueError as error:
            left_out.append(str(error))
            continue
        for shown in (output["data"][MIME] for output in outputs(cells) if _is_claims(output)):
            if not isinstance(shown, list):
                left_out.append(f"{notebook.name}: expected a list of claims, got {_short(shown)}")
                continue
            for claim in shown:
                if missing := _missing_texts(claim):
                    left_out.append(
                        f"{notebook.name}: expected a claim with a text for {', '.join(missing)}, "
                        f"got {_short(claim)}"
                    )
                else:
                    claims.append({key: claim[key] for key in COLUMNS})
    return claims, left_out


def outputs(cells: Iterable) -> list:
    """The outputs of all these cells, in order."""
    return [output for cell in cells for output in cell.get("outputs", [])]


def claims_markdown(claims: Sequence[dict]) -> str:
    """The claims as a Markdown table, a row each."""
    rows = [list(COLUMNS.values()), ["---"] * len(COLUMNS)]
    rows += [[escape_markdown(claim[key]) for key in COLUMNS] for claim in claims]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def with_claims(text: str, claims: Sequence[dict]) -> str:
    """The Markdown `text` with the table of `claims` between its two markers.

    Raises ValueError where the text does not hold both markers, once each and in order.
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"the text must hold {BEGIN} and, after it, {END}, once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n{claims_markdown(claims)}{END}{after}"


def _is_claims(output):
    return MIME in output.get("data", {})


def _missing_texts(claim):
    texts = claim if isinstance(claim, dict) else {}
    return [key for key in COLUMNS if not isinstance(texts.get(key), str)]


def _short(value):
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
