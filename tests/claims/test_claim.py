"""Verdicts follow their rule, and a claim shows and carries the same strings."""

import json

import numpy as np
import pytest

from lib import claims


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.1, 0.2, "holds"),
        (-0.2, -0.1, "contradicted"),
        (-0.1, 0.1, "undecided"),
        (0, 0.1, "undecided"),
        (np.nan, np.nan, "no interval"),
    ],
)
def test_the_verdict_is_a_rule(low, high, word):
    assert claims.verdict(low, high, 0) == word


@pytest.mark.parametrize(
    ("low", "bound", "shown"), [(0.0002, 0.0, "0.0002 to 0.6000"), (0.498, 0.5, "0.498 to 0.600")]
)
def test_an_end_off_the_bound_is_not_shown_on_it(low, bound, shown):
    claim = claims.Claim("c", 0.55, low, 0.6, "", "holds", "", bound=bound)
    assert claim.row()["interval"] == shown


def test_a_table_of_claims_shows_and_carries_the_same_strings():
    table = claims.ClaimTable(
        [
            claims.Claim("counted", 3, 2, 4, "36 of 42", "holds", "so it is", of=4),
            claims.Claim("undefined", np.nan, np.nan, np.nan, "-", "not tested here", "too few"),
        ]
    )
    bundle = table._repr_mimebundle_()
    carried = json.loads(json.dumps(bundle[claims.MIME]))
    for claim, row in zip(table, carried, strict=True):
        assert claim.row().items() <= row.items()
        assert claim.why in bundle["text/plain"]


def test_a_claim_carries_its_question_and_plain_numbers():
    counted = claims.Claim(
        "counted: here", 3, np.nan, 4, "", "holds", "", 4, case="here", lead=True
    )
    row = counted.payload()
    assert (row["estimate"], row["low"], row["high"], row["bound"]) == (3, None, 4, 2)
    assert (row["question"], row["case"], row["lead"]) == ("", "here", True)
