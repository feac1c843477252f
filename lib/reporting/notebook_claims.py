"""The claims that executed notebooks show, collected and written as Markdown by question.

A notebook states its claims by displaying an object whose outputs include the type
`lib.claims.MIME`: a list of dictionaries of display strings, with the keys of `COLUMNS`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from lib.claims import MIME, answer, finding, grouped
from lib.claims.questions import counted
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

ABOUT = {
    "question": str,
    "case": str,
    "lead": bool,
    "brief": str,
    "estimate": int | float,
    "low": int | float,
    "high": int | float,
    "bound": int | float,
}
"""What claims carry beside their texts, see `lib.claims.Claim.payload`, and of which type."""

FRONT = (
    "harness",
    "crossover",
    "tax",
    "prediction",
    "ptgs",
    "signal",
    "selection",
    "discrimination",
    "attribution",
)
"""Questions that the README answers, at most ten."""


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
                    claims.append(_row(claim) | {"notebook": notebook.name})
    return claims, left_out


def outputs(cells: Iterable) -> list:
    """The outputs of all these cells, in order."""
    return [output for cell in cells for output in cell.get("outputs", [])]


def claims_table(claims: Sequence[Mapping]) -> str:
    """The claims as a Markdown table, a row each."""
    rows = [list(COLUMNS.values()), ["---"] * len(COLUMNS)]
    rows += [[escape_markdown(claim[key]) for key in COLUMNS] for claim in claims]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def claims_markdown(claims: Sequence[Mapping], folder: str = "") -> str:
    """Each question with a line of answer from every notebook, its claims folded below.

    folder: where the notebooks lie, seen from the page, such as "../".
    """
    parts = []
    for group in grouped(claims):
        parts.append(f"### {escape_markdown(group.question)}\n\n")
        for name, rows in by_notebook(group.rows).items() if group.key else ():
            parts.append(
                f"{escape_markdown(answer(rows))} ([{name[:2]}]({folder}{quote(name)}))\n\n"
            )
        parts.append(f"<details><summary>{counted(group.rows)}</summary>\n\n")
        parts.append(f"{claims_table(group.rows)}\n</details>\n\n")
    return "".join(parts)


def findings_markdown(claims: Sequence[Mapping], folder: str = "notebooks/") -> str:
    """A row for each question of `FRONT`: the answer in brief, and the notebooks that give it."""
    rows = ["| question | what we find | where |\n| --- | --- | --- |\n"]
    for group in grouped(claims):
        if group.key in FRONT:
            word, brief = finding(group.rows)
            leading = [row for row in group.rows if row.get("lead")] or group.rows
            where = " ".join(f"[{n[:2]}]({folder}{quote(n)})" for n in by_notebook(leading))
            rows.append(
                f"| {escape_markdown(group.question)} | **{word}**: {escape_markdown(brief)} "
                f"| {where} |\n"
            )
    return "".join(rows) if rows[1:] else ""


def by_notebook(rows: Iterable[Mapping]) -> dict[str, list[Mapping]]:
    """The rows that each notebook shows."""
    parts: dict[str, list] = {}
    for row in rows:
        parts.setdefault(row.get("notebook", ""), []).append(row)
    return parts


def with_claims(text: str, claims: Sequence[Mapping], folder: str = "../") -> str:
    """The Markdown `text` with the claims between its two markers.

    Raises ValueError where the text does not hold both markers, once each and in order.
    """
    return _between(text, "claims", claims_markdown(claims, folder))


def with_findings(text: str, claims: Sequence[Mapping]) -> str:
    """The Markdown `text` with the table of findings between its two markers, as `with_claims`."""
    return _between(text, "findings", findings_markdown(claims))


def _between(text, name, new) -> str:
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"the text must hold {begin} and, after it, {end}, once each")
    before, after = text.split(begin)[0], text.split(end)[1]
    return f"{before}{begin}\n{new}{end}{after}"


def _row(claim) -> dict:
    """The texts of a claim and what it carries beside them; saved notebooks may lack the latter."""
    return {key: claim[key] for key in COLUMNS} | {
        key: claim[key] for key, kind in ABOUT.items() if isinstance(claim.get(key), kind)
    }


def _is_claims(output):
    return MIME in output.get("data", {})


def _missing_texts(claim):
    texts = claim if isinstance(claim, dict) else {}
    return [key for key in COLUMNS if not isinstance(texts.get(key), str)]


def _short(value):
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
