"""Claims by question, each with a line of answer that follows from its rows."""

from lib.claims import QUESTIONS, answer, finding, grouped
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
    assert answer([row("holds")]) == "Yes: it works 0.1 [0, 1]."
    assert answer([row("no interval", interval="", brief="rho")]) == (
        "Too few to say: rho 0.1 (no interval)."
    )


def test_undecided_cases_are_listed_where_they_are_few():
    rows = [row("undecided", "a"), row("no interval", "b", 0.3, interval="")]
    assert answer(rows) == "Not decided: it works: a 0.1 [0, 1], b 0.3 (no interval)."


def test_decided_cases_are_counted_with_the_one_furthest_off():
    rows = [row("holds", "a"), row("holds", "b", 0.3), row("contradicted", "c", -0.2)]
    assert answer([*rows, row("undecided", "d")]) == (
        "It depends: it works in 2 of 4 (largest: 0.3 [0, 1], b), the opposite in 1."
    )
    assert answer(rows[2:] * 4) == (
        "No: it works in 0 of 4, the opposite in 4 (largest: -0.2 [0, 1], c)."
    )


def test_what_is_not_tested_is_in_no_count():
    rows = [row("holds", "a"), row("undecided", "b"), row("not tested here", "c", None)]
    assert answer(rows) == "In part: it works in 1 of 2 (0.1 [0, 1], a)."
    assert answer(rows[2:]) == "Not tested here: no data."


def test_a_finding_has_a_few_tests_in_brief():
    rows = [row("holds", brief=name) for name in "abc"]
    assert finding(rows, most=2) == ("Yes", "a 0.1 [0, 1]; b 0.1 [0, 1]")


def test_only_claims_that_lead_make_the_answer():
    assert answer([row("holds"), row("contradicted", "a", lead=False)]).startswith("Yes:")
    assert answer([row("contradicted", "a", lead=False)]).startswith("No:")


def test_rows_of_before_that_have_no_question_come_last():
    old = dict.fromkeys(("claim", "value", "interval", "published", "verdict", "why"), "x")
    first, last = grouped([old, row("holds")])
    assert (first.key, first.question) == ("tax", QUESTIONS["tax"])
    assert (last.key, last.answer, last.rows) == ("", "", [old])


def test_the_rows_lie_behind_a_fold():
    shown = as_html([row("holds", why="a < b")])
    assert shown.index("Yes:") < shown.index("<details><summary>1 claim: 1 holds</summary>")
    assert shown.index("<details>") < shown.index("a &lt; b")
