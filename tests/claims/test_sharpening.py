"""Claims of the first paper say what the data can and cannot show."""

import numpy as np
import pandas as pd

from lib import claims, outcomes


def table(rates, n=16, tasks=30):
    """Counts drawn at (base, post) Beta parameters, by (pair, benchmark)."""
    rng = np.random.default_rng(0)
    rows = [
        {"pair": p, "benchmark": b, "arm": arm, "task": f"t{i}", "n": n, "c": rng.binomial(n, rate)}
        for (p, b), arms in rates.items()
        for arm, shape in zip(("base", "post"), arms, strict=True)
        for i, rate in enumerate(rng.beta(*shape, tasks))
    ]
    return outcomes.validate(pd.DataFrame(rows))


BROAD, SHARP = (1, 2), (0.15, 0.15)
ONE = claims.study(table({("P", "x"): (BROAD, SHARP)}), n_boot=40)
THREE = claims.study(table({("P", b): (BROAD, SHARP) for b in "xyz"}, tasks=150), n_boot=200)
MANY = claims.study(
    table({(f"P{i}", b): ((1, 3 + i), (0.5, 0.5)) for i in range(9) for b in "xy"}, n=48), n_boot=50
)


def test_a_sharpened_arm_pays_and_is_overtaken_and_polarised():
    made = {claim.statement: claim.verdict for claim in claims.all_claims(THREE)}
    assert made["Tax_S(16) is positive in most cases"] == "holds"
    assert made["the base overtakes within 16 attempts in most cases"] == "holds"
    assert next(v for s, v in made.items() if "polarises" in s) == "holds"


def test_a_base_that_is_ahead_from_the_start_overtakes_nothing():
    shapes = {
        ("P", "x"): (BROAD, SHARP),
        ("P", "w"): (BROAD, (0.3, 4)),
        ("Q", "w"): (BROAD, (0.3, 4)),
    }
    whole, of_p, of_q = claims.coverage_crossover(claims.study(table(shapes), n_boot=40))
    assert (whole.value, whole.of) == (of_p.value, of_p.of) == (1, 1)
    assert "worse from the start, nothing to overtake: P on w, Q on w" in whole.why
    assert "worse from the start, nothing to overtake: w" in of_p.why
    assert (of_q.verdict, of_q.why) == (
        "not tested here",
        "worse from the start, nothing to overtake: w",
    )


def test_swapped_arms_are_contradicted():
    swapped = claims.study(table({("P", b): (SHARP, BROAD) for b in "xyz"}, tasks=150), n_boot=200)
    assert claims.tax_positive(swapped).verdict == "contradicted"
    assert claims.polarisation(swapped).verdict == "contradicted"


def test_too_few_comparisons_test_no_correlation():
    claim = claims.few_rollouts_predict(ONE)
    assert claim.verdict == "not tested here"
    assert np.isnan(claim.value)
    assert "needs 40 rollouts of every task, the shortest has 16" in claim.why
    assert "needs three comparisons, there are 1" in claims.tax_follows_consistency(ONE).why


def test_eight_pairs_give_an_interval_and_seven_do_not():
    enough = claims.few_rollouts_predict(MANY)
    assert enough.low <= enough.value <= enough.high
    fewer = claims.few_rollouts_predict([study for study in MANY if study.comparison.pair < "P7"])
    assert np.isnan(fewer.low)
    assert fewer.verdict == "no interval"
    assert "fewer than 8 pairs give no interval, leaving one pair out gives" in fewer.why


def test_a_perfect_arm_leaves_the_tax_untested_and_the_rest_said():
    rows = pd.DataFrame({"task": list("abcdefghij"), "n": 4, "c": [1, 2] * 5, "arm": "base"})
    perfect = claims.study(outcomes.validate(pd.concat([rows, rows.assign(arm="post", c=4)])))
    assert claims.tax_positive(perfect).verdict == "not tested here"
    assert "pass@1 is 1" in claims.tax_positive(perfect).why
    assert claims.coverage_crossover(perfect)[0].value == 0


def test_one_comparison_does_not_show_what_most_do():
    claim = claims.tax_positive(ONE)
    assert claim.verdict == "not tested here"
    assert "fewer than three cases" in claim.why


def cases(*effects):
    """Cases whose estimate lies so many standard errors from zero."""
    noise = np.random.default_rng(1).normal(size=400)
    return [(effect, effect + noise) for effect in effects]


def counted(*effects):
    from lib.claims.sharpening import _count_claim

    claim = _count_claim(cases(*effects), "most", "", "")
    return claim.value, claim.low, claim.high, claim.verdict


def test_a_count_is_bounded_by_the_cases_that_are_sure():
    assert counted(9, 9, 9, 0.5) == (4, 3, 4, "holds")
    assert counted(0.5, 0.5, 0.5, 0.5) == (4, 0, 4, "undecided")
    assert counted(-9, -9, -9, 9) == (1, 1, 1, "contradicted")


def test_a_count_covers_the_true_one_where_effects_are_small():
    """Forty cases one standard error above zero: each uncertain, all of them positive."""
    rng, covered = np.random.default_rng(2), 0
    for _ in range(50):
        value, low, high, _ = counted(*(1 + rng.normal(size=40)))
        covered += low <= 40 <= high
        assert low <= value <= high
    assert covered >= 47


def test_undefined_resamples_are_left_out_of_a_count():
    from lib.claims.sharpening import _count_claim

    holed = [
        (value, np.where(np.arange(400) % 2, np.nan, draws)) for value, draws in cases(9, 9, 9)
    ]
    assert _count_claim(holed, "most", "", "").low == 3


def test_deterministic_arms_have_no_sign():
    rng = np.random.default_rng(3)
    rows = [
        {"pair": p, "benchmark": "x", "arm": arm, "task": f"t{i}", "n": 8, "c": 8 * rng.integers(2)}
        for p in "PQR"
        for arm in ("base", "post")
        for i in range(30)
    ]
    studies = claims.study(outcomes.validate(pd.DataFrame(rows)), n_boot=100)
    assert claims.tax_positive(studies).value == 0
    assert claims.tax_positive(studies).verdict == "undecided"


def test_polarisation_compares_arms_at_the_same_number_of_rollouts():
    """One policy, tried 32 times in one arm and 8 times in the other, is not polarised."""
    rng = np.random.default_rng(4)
    rates = rng.beta(0.5, 0.5, 300)
    rows = [
        {"arm": arm, "task": f"t{i}", "n": n, "c": rng.binomial(n, rate)}
        for arm, n in (("base", 32), ("post", 8))
        for i, rate in enumerate(rates)
    ]
    studies = claims.study(outcomes.validate(pd.DataFrame(rows)), n_boot=200)
    assert claims.polarisation(studies).verdict == "undecided"


def test_published_figures_stand_beside_the_claims():
    assert claims.tax_positive(ONE).published == "36 of 42 at 128"
