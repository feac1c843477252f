"""Tables of outcomes by their source, and what is measured of them."""

import numpy as np
import pandas as pd
import pytest

from lib import claims, outcomes


def study(pairs):
    """Studies of these pairs on the same thirty tasks."""
    rng = np.random.default_rng(0)
    rows = [
        {"pair": pair, "benchmark": "x", "arm": arm, "task": f"t{i}", "n": 16}
        | {"c": rng.binomial(16, rate)}
        for pair in pairs
        for arm, shape in (("base", (1, 2)), ("post", (0.15, 0.15)))
        for i, rate in enumerate(rng.beta(*shape, 30))
    ]
    return claims.study(outcomes.validate(pd.DataFrame(rows)), n_boot=200)


def test_pairs_on_the_same_tasks_share_their_draws():
    two = study("PQ")
    same = study("P")
    shifted = [each.tax.samples["gap"][:, 0] - each.tax.gap.value[0] for each in (two[0], same[0])]
    np.testing.assert_allclose(*shifted)


def test_a_budget_of_zero_is_refused_not_replaced():
    with pytest.raises(outcomes.OutcomesError, match="expected a whole number of at least 1"):
        claims.study(claims.load("published"), max_k=0)


def test_load_keeps_the_order_asked_for():
    chosen = ["Qwen2.5-32B", "gemma-4-31B"]
    loaded = claims.load("published", pairs=chosen, benchmarks=["webshop"])
    assert list(dict.fromkeys(loaded["pair"])) == chosen
    assert set(loaded["benchmark"]) == {"webshop"}


def test_load_names_what_it_does_not_have():
    with pytest.raises(outcomes.OutcomesError, match=r"pairs \['gpt'\]: not in published"):
        claims.load("published", pairs=["gpt"])


def test_a_name_in_the_place_of_a_list_is_refused():
    with pytest.raises(outcomes.OutcomesError, match=r"pairs is 'a': expected a list, \['a'\]"):
        claims.load("published", pairs="a")


def test_load_reads_a_path_from_the_root_of_the_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert outcomes.kind(claims.load("data/examples/base.jsonl")) == "attempts"
