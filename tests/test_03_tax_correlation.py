"""Artifact 03 on the published counts: the tax of the 12 comparisons, and what predicts it."""

import numpy as np
import pytest

from lib import claims, metrics
from lib.claims import paper_tables
from lib.reporting import tables

STUDIES = claims.study(claims.load("published"), n_boot=200)
TAX = {one.comparison.label: one.tax for one in STUDIES}

TAXES = {
    "gemma-4-31B on bfcl": (8.11, 0.0732),
    "gemma-4-31B on webshop": (4.49, 0.0364),
    "gemma-4-31B on acebench": (4.83, 0.0680),
    "Qwen2.5-32B on bfcl": (6.81, 0.0559),
    "Qwen2.5-32B on webshop": (4.69, 0.0369),
    "Qwen2.5-32B on acebench": (5.83, 0.0725),
    "Qwen3.5-35B-A3B on bfcl": (4.67, 0.0247),
    "Qwen3.5-35B-A3B on webshop": (5.51, 0.0369),
    "Qwen3.5-35B-A3B on acebench": (0.74, -0.0261),
    "Ministral-3-14B on bfcl": (6.44, 0.0421),
    "Ministral-3-14B on webshop": (8.11, 0.0568),
    "Ministral-3-14B on acebench": (3.80, 0.0139),
}


@pytest.mark.parametrize("label", TAXES)
def test_taxes_at_128(label):
    A, S = TAXES[label]
    assert TAX[label].tax_A.at(128).value == pytest.approx(A, abs=0.005)
    assert TAX[label].tax_S.at(128).value == pytest.approx(S, abs=0.00005)


@pytest.mark.parametrize(
    ("claim", "name"), [("webshop_tax_A", "tax_A"), ("webshop_tax_S", "tax_S")]
)
def test_the_tax_the_authors_print(claim, name):
    printed = paper_tables.headline(claim)
    here = getattr(TAX["gemma-4-31B on webshop"], name).at(128).value
    assert here == pytest.approx(printed.value, abs=printed.tolerance)


@pytest.mark.parametrize(("a", "b", "rho"), [(8, 32, 0.762), (32, 128, 0.622)])
def test_rank_agreement_without_splitting(a, b, rho):
    x, y = ([tax.tax_S.at(k).value for tax in TAX.values()] for k in (a, b))
    assert metrics.spearman(x, y) == pytest.approx(rho, abs=0.0005)


def test_eleven_of_twelve_pay():
    claim = claims.tax_positive(STUDIES)
    assert (claim.value, claim.of) == (11, 12)
    assert "Qwen3.5-35B-A3B on acebench" in claim.why


def test_four_pairs_leave_one_out_instead_of_an_interval():
    claim = claims.few_rollouts_predict(STUDIES)
    assert np.isnan(claim.low)
    assert claim.verdict == "no interval"
    assert 0.6 < claim.value < 0.8


def test_budgets_the_rollouts_do_not_allow_are_left_out():
    table = tables.agreement_table(STUDIES, budgets=(32, 115))
    assert "Tax_S(115)" in table.query("rollouts == 8")["Tax_S(8) against"].tolist()
    assert "Tax_S(115)" not in table.query("rollouts == 16")["Tax_S(8) against"].tolist()
