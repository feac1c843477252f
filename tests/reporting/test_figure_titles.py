"""Titles say what the numbers say, and no more."""

import numpy as np
import pandas as pd
import pytest

from lib import claims, metrics
from lib.claims import paper_tables
from lib.reporting import figure_titles


def tax_of(base, post, n=8, n_boot=60):
    cells = (metrics.Counts(np.array(c), np.full(len(c), n)) for c in (base, post))
    return metrics.sharpening_tax(*cells, n, n_boot=n_boot)


def crossing(k, low, high, K=128):
    crossover = metrics.Crossover(k, low, high, 0.5)
    return figure_titles.crossover_title(type("Tax", (), {"crossover": crossover, "K": K}))


@pytest.mark.parametrize(
    ("crossover", "title"),
    [
        ((3, 2, 4), "base ahead from 3 attempts"),
        ((87, 20, np.inf), "base ahead from 87 attempts, uncertain"),
        ((np.inf, 78, np.inf), "base not ahead within 128, uncertain"),
        ((np.inf, np.inf, np.inf), "base not ahead within 128"),
        ((1, 1, 1), "base ahead from the first attempt"),
        ((1, 1, np.inf), "base ahead from the first attempt, uncertain"),
        ((5, np.nan, np.nan), "base ahead from 5 attempts, no interval"),
    ],
)
def test_a_crossover_is_called_uncertain_where_its_interval_says_so(crossover, title):
    assert crossing(*crossover) == title


def test_one_attempt_has_no_crossover():
    assert "one attempt" in crossing(np.inf, np.nan, np.nan, K=1)


def test_the_opening_title_names_who_is_ahead_at_both_ends():
    first, last = figure_titles.opening_title(tax_of([2, 2, 2], [8, 8, 0])).split("\n")
    assert first == "With one attempt the post-trained model is ahead, 67% to 25%;"
    assert last == "with 8 attempts the base is ahead, 100% to 67%"
    assert "both solve 25%" in figure_titles.opening_title(tax_of([2], [2]))


def test_taxes_are_counted_by_their_intervals():
    rows = pd.DataFrame(
        {"value": [1, -1, 0.1, np.nan], "low": [0.5, -2, -1, np.nan], "high": [2, -0.5, 1, np.nan]}
    )
    title = figure_titles.tax_title("Tax", rows)
    assert title == "Tax: 1 positive, 1 negative, 1 undecided, 1 undefined"
    assert figure_titles.tax_title("Tax", rows.head(1)) == "Tax: 1 positive of 1"


def test_kinds_are_means_over_pairs():
    kinds = pd.DataFrame(
        {"arm": ["base", "post"] * 2, "never": [0.1, 0.3, 0.3, 0.5], "always": [0, 0.5, 0, 0.7]}
    )
    assert figure_titles.kinds_title("b", kinds) == "b: never 20% → 40%, always 0% → 60%"


def test_a_pooled_correlation_is_held_against_those_within():
    apart = figure_titles.pooled_against_within(0.7, {"sokoban": 0.18, "frozenlake": 0.08})
    assert "0.70 pooled, 0.18 within sokoban, 0.08 within frozenlake" in apart
    assert "differences between the environments" in apart
    assert "not only" in figure_titles.pooled_against_within(0.7, {"sokoban": 0.6})
    assert "No group" in figure_titles.pooled_against_within(0.7, {})


def test_size_needs_families_of_several_sizes():
    rows = pd.DataFrame(
        {"family": ["a", "b"], "benchmark": "x", "size": [1.0, 2.0], "value": [0.1, 0.2]}
    )
    assert "cannot be told apart" in figure_titles.sizes_title(rows)
    same = figure_titles.sizes_title(rows.assign(family="a"))
    assert same == "The larger of two models of a family pays more in 1 of 1 couples"


def test_the_printed_harness_table_has_a_benchmark_that_it_does_not_help():
    sentence = figure_titles.harness_sentence(paper_tables.table("harness_ablation"))
    assert sentence == "As printed, it helps on bfcl and webshop, not on acebench."


def test_shifts_are_counted_by_their_intervals():
    rows = pd.DataFrame({"low": [0.1, -0.1, np.nan], "high": [0.2, 0.1, np.nan]})
    assert figure_titles.shifts_title("b", rows) == "b: 1 up, 2 undecided"


def test_every_title_of_the_published_comparisons_can_be_made():
    studies = claims.study(claims.load("published"), n_boot=0)
    for _, tax in studies:
        assert figure_titles.crossover_title(tax).endswith("no interval")


def test_a_lead_within_chance_is_called_so():
    title = figure_titles.opening_title(tax_of([4, 5] * 10, [5, 4] * 9 + [5, 5]))
    assert "the post-trained model is ahead" in title
    assert "(within chance)" in title.split("\n")[0]
