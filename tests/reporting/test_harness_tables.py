"""Tables of the harness: what was not collected stays empty, and zeros have a bound."""

import pandas as pd

from lib import metrics
from lib.claims import paper_tables
from lib.reporting import figure_rows, figure_titles, harness_tables

NONE, SOME = metrics.Band(0.0, 0.0, 0.0), metrics.Band(0.5, 0.4, 0.6)


def rates(*bands, condition="cue on, lenient"):
    return pd.DataFrame(
        {"pair": [f"m{i}" for i in range(len(bands))], "condition": condition, "tasks": 40}
    ).assign(**{"pass@1": bands, "pass@8": bands})


def test_a_rate_of_zero_has_a_bound_and_others_have_none():
    assert list(harness_tables.rates_table(rates(NONE, SOME))["at most"]) == ["7.2%", ""]


def test_our_control_is_not_put_under_the_papers():
    paper = paper_tables.table("harness_ablation")
    table = harness_tables.beside_the_paper(paper, rates(SOME), "m0", 8)
    ours = table[table["benchmark"].str.startswith("here")]
    assert set(ours["sibling's template"]) == {"not collected"}
    assert set(ours["plain prompt"]) == {""}
    assert set(ours["with the harness"]) == {50.0}
    assert set(table[table["benchmark"] == "acebench"]["change"]) == {-1.61, -1.56}


def test_a_floor_is_called_one_and_draws_no_panel():
    assert "a floor" in figure_titles.floor_sentence(rates(NONE, NONE), 8)
    sentence = figure_titles.floor_sentence(rates(NONE, SOME), 8)
    assert sentence.endswith("m1 solves at most 50.0% of the tasks in 8 attempts.")
    assert list(figure_rows.conditions_above(rates(NONE, SOME), 0.05)) == ["m1"]
