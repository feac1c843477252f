"""The Sharpening Tax and its intervals."""

import numpy as np
import pytest

from lib.metrics import (
    Counts,
    coverage_curve,
    scalability,
    sharpening_tax,
)


def cell(rng, tasks=40, n=16):
    return rng.binomial(n, rng.beta(0.4, 0.6, tasks)), np.full(tasks, n)


def test_tax_of_a_cell_against_itself_is_zero_and_certain():
    same = cell(np.random.default_rng(0))
    tax = sharpening_tax(same, same, 16)
    for band in (tax.tax_A, tax.gap):
        assert np.all(np.array(band) == 0)
    assert np.all(np.array(tax.tax_S)[:, 1:] == 0)
    assert tax.crossover.value == np.inf
    assert tax.crossover.probability == 0


def test_values_are_those_of_the_curves():
    rng = np.random.default_rng(1)
    base, post = cell(rng), cell(rng)
    tax = sharpening_tax(base, post, 16, n_boot=0)
    A, S = scalability(coverage_curve(base, 16), 16)
    B, R = scalability(coverage_curve(post, 16), 16)
    assert tax.tax_A.value[-1] == pytest.approx(A - B)
    assert tax.tax_S.value[-1] == pytest.approx(S - R)
    assert np.all(np.isnan(tax.tax_A.low))


def test_same_generator_same_interval():
    rng = np.random.default_rng(2)
    base, post = cell(rng), cell(rng)
    one, two = (sharpening_tax(base, post, 8, rng=5).tax_A for _ in range(2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, sharpening_tax(base, post, 8, rng=6).tax_A)


def test_interval_of_accuracy_is_that_of_a_mean_of_tasks():
    """pass@1 is a mean over tasks, so its bootstrap interval tends to the normal one."""
    rng = np.random.default_rng(3)
    base = cell(rng, tasks=400)
    rates = base[0] / base[1]
    tax = sharpening_tax(base, base, 2, n_boot=4000)
    half = 1.96 * rates.std() / np.sqrt(400)
    band = tax.coverage_base.at(1)
    assert band.low == pytest.approx(rates.mean() - half, abs=0.1 * half)
    assert band.high == pytest.approx(rates.mean() + half, abs=0.1 * half)


def test_pairing_narrows_the_gap_of_arms_that_share_difficulty():
    rng = np.random.default_rng(4)
    c, n = cell(rng, tasks=200)
    easier = np.minimum(c + 1, n)
    paired = sharpening_tax((easier, n), (c, n), 4)
    histogram = sharpening_tax(
        Counts(easier, n, tasks=np.ones(200, int)), Counts(c, n, tasks=np.ones(200, int)), 4
    )
    assert paired.paired
    assert not histogram.paired
    np.testing.assert_allclose(histogram.gap.value, paired.gap.value)
    widths = [np.mean(tax.gap.high - tax.gap.low) for tax in (paired, histogram)]
    assert widths[0] < 0.3 * widths[1]


def test_histograms_are_never_paired_by_position():
    """Ordered histograms look aligned row by row; they must be resampled apart, and say so."""
    same = Counts([0, 1, 2, 3], [4] * 4, tasks=[10, 10, 10, 10])
    tax = sharpening_tax(same, same, 4)
    assert np.all(tax.gap.high[1:] - tax.gap.low[1:] > 0)  # were they paired, it would be 0
    assert "the arms were resampled apart" in tax.notes[0]


def test_a_histogram_of_very_many_tasks_costs_its_rows():
    many = Counts([0, 1, 4], [4] * 3, tasks=[10**12, 10**12, 10**12])
    gap = sharpening_tax(many, many, 4).gap
    assert np.all(np.abs([gap.low, gap.high]) < 1e-5)
    assert np.all(gap.low < gap.high)


def test_a_histogram_is_resampled_as_its_tasks_are():
    rng = np.random.default_rng(8)
    c, n = cell(rng, tasks=300)
    successes, tasks = np.unique(c, return_counts=True)
    listed = sharpening_tax((c, n), (c, n), 16).coverage_base
    counted = Counts(successes, np.full(len(successes), 16), tasks=tasks)
    counted = sharpening_tax(counted, counted, 16).coverage_base
    np.testing.assert_allclose(counted.value, listed.value)
    widths = [band.high - band.low for band in (listed, counted)]
    np.testing.assert_allclose(*widths, rtol=0.15)


def test_one_histogram_is_enough_to_unpair():
    c, n = [0, 1, 2, 3], [4] * 4
    assert not sharpening_tax((c, n), Counts(c, n, tasks=[1] * 4), 4).paired


def test_arms_of_different_length_are_refused():
    with pytest.raises(ValueError, match=r"3 tasks in the base and 2 in the post.*align"):
        sharpening_tax(([0, 1, 2], [4] * 3), ([0, 1], [4] * 2), 4)


def test_a_perfect_arm_has_no_calibrated_tax_but_everything_else():
    tax = sharpening_tax(([1, 2, 3] * 4, [4] * 12), ([4] * 12, [4] * 12), 4)
    assert np.all(np.isnan(tax.tax_S.value))
    assert "pass@1 of the post-trained arm is 1" in tax.notes[0]
    assert np.all(np.isfinite(tax.tax_A))
    assert np.all(np.isfinite(tax.gap))


def test_resamples_without_room_are_left_out_and_counted():
    c = [1] + [4] * 11
    tax = sharpening_tax((c, [4] * 12), (c, [4] * 12), 4)
    assert np.isfinite(tax.tax_S.low[-1])
    assert "undefined (pass@1 = 1) in" in tax.notes[0]


def test_budget_above_a_tasks_rollouts_names_it():
    base = Counts([1, 2], [8, 4], names=["a", "b"])
    with pytest.raises(ValueError, match="task 'b' with n = 4"):
        sharpening_tax(base, base, 8)


def test_crossover_interval_may_reach_beyond_the_largest_budget():
    rng = np.random.default_rng(5)
    base, post = cell(rng, tasks=30), cell(rng, tasks=30)
    result = sharpening_tax(base, post, 16).crossover
    assert 0 < result.probability < 1
    assert result.high == np.inf
    assert result.low == round(result.low)


def test_polarisation_is_the_gain_in_tasks_at_the_extremes():
    tax = sharpening_tax(([0, 1, 2, 3], [4] * 4), ([0, 0, 4, 3], [4] * 4), 4)
    assert tax.polarisation.at(4).value == pytest.approx(0.5)


def test_few_tasks_give_no_interval_and_say_so():
    tax = sharpening_tax(([4], [16]), ([9], [16]), 16)
    assert np.isnan(tax.tax_S.low[-1])
    assert "fewer than 10 tasks: no intervals" in tax.notes


@pytest.mark.parametrize("n_boot", [-1, 1, 39])
def test_a_handful_of_resamples_is_refused(n_boot):
    with pytest.raises(ValueError, match="expected 0 for no intervals, or at least 40"):
        sharpening_tax(([4], [16]), ([9], [16]), 16, n_boot=n_boot)


def test_tasks_of_other_names_are_not_paired_by_position():
    base, post = (Counts([1, 2], [4, 4], names=list(names)) for names in ("ab", "ba"))
    with pytest.raises(ValueError, match="name their tasks differently"):
        sharpening_tax(base, post, 4)


def test_one_largest_budget_is_asked_for():
    with pytest.raises(ValueError, match="expected a single budget"):
        sharpening_tax(([1], [4]), ([1], [4]), [2, 4])


@pytest.mark.parametrize("k", [0, -1, 17])
def test_a_band_knows_the_budgets_it_was_measured_for(k):
    tax = sharpening_tax(([4], [16]), ([9], [16]), 16)
    with pytest.raises(ValueError, match="from 1 to 16, the largest measured"):
        tax.tax_S.at(k)


def test_budgets_beyond_memory_are_refused():
    counts = Counts([10**6] * 12, [10**7] * 12)
    with pytest.raises(ValueError, match=r"K = 1000000 with n_boot = 1000: .* K up to 19980"):
        sharpening_tax(counts, counts, 10**6)
