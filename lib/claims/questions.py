"""The questions that claims answer, and a line of answer to each, computed from its claims.

Works on rows as `Claim.payload` makes them and notebooks carry them: dictionaries.
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"
NO_INTERVAL, NOT_TESTED = "no interval", "not tested here"
VERDICTS = (HOLDS, CONTRADICTED, UNDECIDED, NO_INTERVAL, NOT_TESTED)
"""All verdicts, in the order in which answers count them."""

QUESTIONS = {
    "harness": "Does a text harness help a base model?",
    "crossover": "Does the base overtake, given enough attempts?",
    "polarisation": "Does post-training move tasks to never and always?",
    "tax": "Does post-training cost what more attempts gain?",
    "prediction": "Do eight attempts predict the tax?",
    "size": "Do larger models overtake earlier, or pay more?",
    "ptgs": "Does PTGS lower the tax and raise coverage?",
    "signal": "Does PTGS give training more to learn from?",
    "pilots": "Does PTGS by pilots help a frozen policy?",
    "selection": "Does progress advantage pick better attempts?",
    "discrimination": "Does progress advantage foretell success best?",
    "attribution": "Does progress advantage find the step that lost?",
}
"""Key of a question -> the question. Where its claims hold, the answer is yes."""

OTHER = "Other claims"
SHOWN_EACH = 3
"""Cases of a test that an answer lists where none is decided; more are counted."""
COLUMNS = ("claim", "value", "interval", "published", "verdict", "why")


class Group(NamedTuple):
    """The claims of one question: its key and text, the line of answer, and their rows."""

    key: str
    question: str
    answer: str
    rows: list[Mapping]


def grouped(rows: Iterable[Mapping]) -> list[Group]:
    """Rows by question, in the order of `QUESTIONS`; rows of no known question come last."""
    parts: dict[str, list] = {key: [] for key in [*QUESTIONS, ""]}
    for row in rows:
        parts[row.get("question") if row.get("question") in QUESTIONS else ""].append(row)
    return [
        Group(key, QUESTIONS.get(key, OTHER), answer(part) if key else "", part)
        for key, part in parts.items()
        if part
    ]


def answer(rows: Sequence[Mapping]) -> str:
    """One line that answers a question: a word, then its tests in brief."""
    word, brief = finding(rows, most=4)
    return f"{word}: {brief}."


def finding(rows: Sequence[Mapping], most: int = 3) -> tuple[str, str]:
    """The answer as a word, and as its tests in brief, `most` at most, with number and interval.

    It rests on the claims that lead, on all where none does. What could not be tested is counted in
    no test, and named only where nothing else is.
    """
    leading = [row for row in rows if row.get("lead")] or list(rows)
    tested = [row for row in leading if row["verdict"] != NOT_TESTED]
    if not tested:
        return _word(leading), leading[0]["why"]
    tests: dict[str, list] = {}
    for row in tested:
        tests.setdefault(row.get("brief") or _test(row), []).append(row)
    return _word(leading), "; ".join(_in_brief(*test) for test in list(tests.items())[:most])


def _in_brief(brief, rows) -> str:
    """One test: its number, or of several cases how many hold, and those furthest off."""
    if len(rows) == 1:
        return f"{brief} {_shown(rows[0])}"
    holding = [row for row in rows if row["verdict"] == HOLDS]
    against = [row for row in rows if row["verdict"] == CONTRADICTED]
    if not holding and not against and len(rows) <= SHOWN_EACH:
        return f"{brief}: " + ", ".join(f"{row.get('case')} {_shown(row)}" for row in rows)
    text = f"{brief} in {len(holding)} of {len(rows)}{_example(holding)}"
    if against:
        text += f", the opposite in {len(against)}{'' if holding else _example(against)}"
    return text


def _word(rows) -> str:
    seen = {row["verdict"] for row in rows} - {NOT_TESTED}
    if not seen:
        return "Not tested here"
    if len(seen) == 1:
        words = {HOLDS: "Yes", CONTRADICTED: "No", NO_INTERVAL: "Too few to say"}
        return words.get(*seen, "Not decided")
    if {HOLDS, CONTRADICTED} <= seen:
        verdicts = [row["verdict"] for row in rows]
        more_against = verdicts.count(CONTRADICTED) > 2 * verdicts.count(HOLDS)
        return "Mostly no" if more_against else "It depends"
    if HOLDS in seen:
        return "In part"
    return "In part contradicted" if CONTRADICTED in seen else "Not decided"


def _test(row) -> str:
    """The statement without its case."""
    case = row.get("case")
    return row["claim"].removesuffix(f": {case}") if case else row["claim"]


def _example(rows) -> str:
    """The row that lies furthest from the bound of its verdict, in brackets; "" for no rows."""
    if not rows:
        return ""

    def distance(row):
        value = row.get("estimate")
        return -1 if value is None else abs(value - (row.get("bound") or 0))

    row = max(rows, key=distance)
    case = row.get("case") or row["claim"]
    return f" ({'largest: ' if len(rows) > 1 else ''}{_shown(row)}, {case})"


def _shown(row) -> str:
    interval = row["interval"].replace(" to ", ", ")
    return row["value"] + (f" [{interval}]" if interval else " (no interval)")


def as_html(rows: Sequence[Mapping]) -> str:
    """The claims for a notebook: each question with its answer, its rows folded away."""
    return "\n".join(_group_html(group) for group in grouped(rows))


def _group_html(group) -> str:
    def line(tag, cells):
        shown = "".join(f"<{tag} style='text-align: left'>{cell}</{tag}>" for cell in cells)
        return f"<tr>{shown}</tr>"

    body = "".join(line("td", (html.escape(row[name]) for name in COLUMNS)) for row in group.rows)
    return (
        f"<p><b>{html.escape(group.question)}</b><br>{html.escape(group.answer)}</p>\n"
        f"<details><summary>{counted(group.rows)}</summary>\n"
        f"<table><thead>{line('th', COLUMNS)}</thead><tbody>{body}</tbody></table></details>"
    )


def counted(rows: Sequence[Mapping]) -> str:
    """How many claims there are, and how many have each verdict.

    >>> counted([{"verdict": "holds"}, {"verdict": "undecided"}, {"verdict": "holds"}])
    '3 claims: 2 holds, 1 undecided'
    """
    seen = [row["verdict"] for row in rows]
    words = [word for word in dict.fromkeys([*VERDICTS, *seen]) if word in seen]
    parts = ", ".join(f"{seen.count(word)} {word}" for word in words)
    return f"{len(rows)} claim{'' if len(rows) == 1 else 's'}: {parts}"
