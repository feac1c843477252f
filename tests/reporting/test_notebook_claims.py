"""Claims are collected from notebooks, and written as a table that shows just what they say."""

import html

import pytest
from markdown_it import MarkdownIt

from lib.reporting.notebook_claims import (
    FRONT,
    claims_markdown,
    claims_table,
    collect_claims,
    findings_markdown,
    with_claims,
    with_findings,
)
from tests.small_notebooks import CLAIM, notebook_with_claims


def test_claims_are_collected_in_order(tmp_path):
    first = notebook_with_claims(tmp_path / "1.ipynb", [CLAIM])
    second = notebook_with_claims(tmp_path / "2.ipynb", [CLAIM | {"claim": "another"}])
    claims, left_out = collect_claims([second, first])
    assert [claim["claim"] for claim in claims] == ["another", CLAIM["claim"]]
    assert not left_out


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        ([CLAIM | {"value": 0.3}], "expected a claim with a text for value, got {'claim'"),
        (
            [{}],
            "expected a claim with a text for claim, value, interval, published, verdict, why, got",
        ),
        (
            ["one"],
            "expected a claim with a text for claim, value, interval, published",
        ),
        ([[CLAIM]], "expected a claim with a text"),
        (CLAIM, "expected a list of claims, got {'claim'"),
        ("text", "expected a list of claims, got 'text'"),
        (None, "expected a list of claims, got None"),
    ],
)
def test_what_is_no_claim_is_left_out_and_named(tmp_path, shown, message):
    good = notebook_with_claims(tmp_path / "good.ipynb", [CLAIM])
    bad = notebook_with_claims(tmp_path / "bad.ipynb", shown)
    claims, left_out = collect_claims([bad, good])
    assert claims == [CLAIM | {"notebook": "good.ipynb"}]
    assert left_out[0].startswith(f"bad.ipynb: {message}")


def test_the_table_keeps_its_columns_whatever_the_text():
    row = claims_table([CLAIM | {"claim": "a|b\nc"}]).splitlines()[2]
    assert row.startswith("| a\\|b c | 11 of 12 |")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> & &lt;",
        "**x** *y* __z__ _w_ ~~v~~ `u` a*b*c",
        "[a](b) ![c](d) <http://e> <!-- claims:end -->",
        "back\\slash \\| pipe | \\* star",
        "k* = 3, Tax_S(128), pass^8",
    ],
)
def test_a_claim_shows_as_it_is_written(text):
    shown = MarkdownIt("gfm-like").disable("linkify").render(claims_table([CLAIM | {"why": text}]))
    assert f"<td>{html.escape(text, quote=False)}</td>" in shown


def test_ordinary_text_of_a_claim_stays_plain():
    row = claims_table([CLAIM | {"why": "k* = 3, Tax_S(128), pass^8: 0.1 - 0.2"}])
    assert "| k* = 3, Tax_S(128), pass^8: 0.1 - 0.2 |" in row


def test_claims_go_between_the_markers_and_nowhere_else():
    text = "before\n<!-- claims:begin -->\nold\n<!-- claims:end -->\nafter"
    new = with_claims(text, [CLAIM])
    assert new.startswith("before\n<!-- claims:begin -->\n### Other claims\n")
    assert new.endswith("</details>\n\n<!-- claims:end -->\nafter")
    assert with_claims(new, [CLAIM]) == new


@pytest.mark.parametrize("text", ["", "<!-- claims:end --><!-- claims:begin -->"])
def test_missing_markers_are_named(text):
    with pytest.raises(ValueError, match="must hold <!-- claims:begin -->"):
        with_claims(text, [CLAIM])


ASKED = CLAIM | {"question": "crossover", "notebook": "02_x.ipynb", "brief": "the base leads in"}


def test_claims_keep_what_they_carry_of_the_right_type(tmp_path):
    shown = ASKED | {"lead": True, "estimate": 11, "low": None, "other": 1, "case": 3}
    (claim,), _ = collect_claims([notebook_with_claims(tmp_path / "1.ipynb", [shown])])
    kept = {key: claim.get(key) for key in ("question", "lead", "estimate", "low", "other", "case")}
    assert list(kept.values()) == ["crossover", True, 11, None, None, None]


def test_claims_lie_folded_under_their_question_and_its_answers():
    page = claims_markdown([ASKED, ASKED | {"notebook": "02_y.ipynb"}], "../")
    assert page.startswith(
        "### Does the base overtake, given enough attempts?\n\nYes: the base leads in"
    )
    assert "([02](../02_x.ipynb))" in page
    assert "([02](../02_y.ipynb))" in page
    assert page.index("<summary>2 claims: 2 holds</summary>") < page.index("| Claim |")


def test_findings_are_a_row_a_question_with_number_and_interval():
    rows = findings_markdown([ASKED, CLAIM]).splitlines()
    assert rows[0] == "| question | what we find | where |"
    assert rows[2:] == [
        "| Does the base overtake, given enough attempts? | **Yes**: the base leads in 11 of 12 "
        "[9, 12] | [02](notebooks/02_x.ipynb) |".replace("[9, 12]", "\\[9, 12]")
    ]


def test_findings_go_between_their_markers():
    text = "a <!-- findings:begin --><!-- findings:end --> b"
    assert "**Yes**" in with_findings(text, [ASKED])
    assert len(FRONT) <= 10
