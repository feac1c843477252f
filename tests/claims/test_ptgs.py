"""Claims about PTGS over seeds: the learning signal, the headlines, and pilots together."""

import numpy as np
import pandas as pd
import pytest

from lib import claims


def runs(ptgs=0.0, **columns):
    """Five seeds of fixed and PTGS; PTGS differs by `ptgs`, a little more in later seeds."""
    rows = [
        {"seed": seed, "sampler": method, "world": "sokoban", "algorithm": "grpo"}
        | {
            name: start + (method == "ptgs") * (ptgs + seed / 1000)
            for name, start in columns.items()
        }
        for seed in range(5)
        for method in ("fixed", "ptgs")
    ]
    return pd.DataFrame(rows)


def test_each_part_of_the_learning_signal_has_a_verdict_of_its_own():
    steps = pd.concat(
        [runs(-0.1, mixed=0.5, entropy_ref=0.5), runs(-0.2, mixed=0.4, entropy_ref=0.5)]
    )
    steps.loc[steps["sampler"] == "ptgs", "entropy_ref"] += 0.4
    mixed, entropy, first = claims.signal_claims(steps, runs(**{"pass@1": 0.4}), "sokoban", "grpo")
    assert (mixed.verdict, entropy.verdict, first.verdict) == ("contradicted", "holds", "holds")
    assert mixed.value == pytest.approx(-0.15 + 0.002)
    assert first.published == "36.5 to 39.1 %, Qwen2.5-7B"


def test_headlines_are_put_to_the_setting_that_they_were_printed_for():
    scores = runs(0.05, **{"pass@1": 0.4, "pass@128": 0.6, "Tax_S": 0.1})
    first, last, tax = claims.headline_claims(scores)
    assert first.verdict == "not tested here"  # 14.6 points are of Sokoban with PPO
    assert (last.verdict, last.bound) == ("contradicted", pytest.approx(0.172))
    assert (tax.verdict, tax.value) == ("no interval", pytest.approx(-0.52))
    assert "69 %" in tax.published


def test_no_tax_leaves_none_to_cut():
    scores = runs(0.05, **{"pass@1": 0.4, "pass@128": 0.6, "Tax_S": -0.1})
    assert "there is none to cut" in claims.headline_claims(scores)[-1].why


def test_pilots_are_one_claim_a_policy_with_intervals_for_all_of_them():
    parts = [
        runs(gain, coverage=0.5).assign(world=world, policy="post", total=128)
        for world, gain in (("a", 0.1), ("b", 0.0))
    ]
    table = pd.concat(parts).rename(columns={"sampler": "method"})
    matched = table[table["method"] == "fixed"].assign(method="matched")
    made = claims.pilot_claims(pd.concat([table, matched]))
    assert [claim.verdict for claim in made] == ["holds", "undecided"]
    alone = np.arange(5) / 1000
    half = alone.std(ddof=1) / 5**0.5 * 3.4954  # t(0.9875, 4): 97.5 % for two comparisons
    assert made[0].high - made[0].value == pytest.approx(half, rel=1e-3)
    assert "fixed 0.500; interval at 97.5%, for 2 comparisons" in made[0].why
