"""Claims by question, each with a line of answer that follows from its rows."""

from lib.claims import QUESTIONS, answer, grouped
from lib.claims.questions import as_html


def row(verdict, case="", estimate=0.1, lead=True, **more):
    return {
        "claim": "it works" + (f": {case}" if case else ""),
        "value": f"{estimate}",
        "interval": "0 to 1",
        "published": "",
        "verdict": verdict,
        "why": "no data",
        "case": case,
        "lead": lead,
        "estimate": estimate,
        "bound": 0.0,
        "question": "tax",
    } | more


def test_one_claim_answers_with_its_number_and_interval():
    assert answer([row("holds")]) == "Yes. It works, 0.1 [0, 1]: holds."
    assert answer([row("no interval", interval="")]) == (
        "Too few to say. It works, 0.1: no interval."
    )


def test_few_cases_are_listed():
    rows = [row("holds", "a"), row("no interval", "b", 0.3, interval="")]
    assert answer(rows) == "In part. It works: a 0.1 [0, 1] (holds), b 0.3 (no interval)."


def test_more_cases_are_counted_with_the_furthest_of_each_verdict():
    rows = [row("holds", "a"), row("holds", "b", 0.3), row("contradicted", "c", -0.2)]
    assert answer([*rows, row("undecided", "d")]) == (
        "It depends. It works: holds in 2 of 4 (most: b, 0.3 [0, 1]), "
        "contradicted in 1 (c, -0.2 [0, 1]), undecided in 1."
    )


def test_what_is_not_tested_is_in_no_count():
    rows = [row("holds", "a"), row("undecided", "b"), row("not tested here", "c", None)]
    assert answer(rows).startswith("In part. It works: a 0.1 [0, 1] (holds), b")
    assert answer(rows).endswith("; not tested in 1.")
    assert answer(rows[2:]) == "Not tested here. It works: not tested here, no data."


def test_only_claims_that_lead_make_the_answer():
    assert answer([row("holds"), row("contradicted", "a", lead=False)]).startswith("Yes.")
    assert answer([row("contradicted", "a", lead=False)]).startswith("No.")


def test_rows_of_before_that_have_no_question_come_last():
    old = dict.fromkeys(("claim", "value", "interval", "published", "verdict", "why"), "x")
    first, last = grouped([old, row("holds")])
    assert (first.key, first.question) == ("tax", QUESTIONS["tax"])
    assert (last.key, last.rows) == ("", [old])


def test_the_rows_lie_behind_a_fold():
    shown = as_html([row("holds", why="a < b")])
    assert shown.index("Yes.") < shown.index("<details><summary>1 claim: 1 holds</summary>")
    assert shown.index("<details>") < shown.index("a &lt; b")
