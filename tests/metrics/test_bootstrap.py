"""Resamples and intervals keep their random streams: published numbers hang on them."""

import numpy as np
import pytest
from scipy import stats

from lib import metrics
from lib.metrics import Counts, bootstrap, t_interval

SCORES, PASSED, TASKS = np.arange(60) * 7 % 23, np.arange(60) % 3 == 0, np.arange(60) // 5
SUCCESSES = np.arange(20) % 9
BASE = Counts(SUCCESSES, np.full(20, 8))
POST = Counts(np.minimum(SUCCESSES + 1, 8)[::-1].copy(), np.full(20, 8))
HISTOGRAM = Counts([0, 3, 6], [8, 8, 8], [7, 8, 9])


def test_weights_of_tasks_keep_their_stream():
    weights = bootstrap.task_weights(12, 40, 3)
    assert weights.shape == (41, 12)
    assert weights[0].tolist() == [1] * 12
    assert weights[1].tolist() == [0, 0, 2, 1, 0, 1, 1, 0, 2, 0, 3, 2]


def test_weights_of_named_tasks_keep_their_stream():
    rng, row_of_task = np.random.default_rng(5), np.arange(12) % 4
    weights = bootstrap.row_weights(np.full(4, 3.0), 40, rng, row_of_task)
    assert weights[[0, 1, 40]].tolist() == [[3, 3, 3, 3], [4, 3, 1, 4], [3, 4, 4, 1]]


def test_weights_of_a_histogram_keep_their_stream():
    weights = bootstrap.row_weights(np.array([5.0, 3.0, 9.0]), 40, np.random.default_rng(5))
    assert weights[[0, 1, 40]].tolist() == [[5, 3, 9], [7, 4, 6], [7, 1, 9]]


def test_clusters_are_drawn_whole_with_draws_of_the_caller_between_them():
    x = np.random.default_rng(0).normal(size=(18, 4))
    y = x + np.random.default_rng(1).normal(size=(18, 4))
    clusters = np.repeat([f"p{i}" for i in (8, 7, 6, 5, 4, 3, 2, 1, 0)], 2)
    rng, rhos = np.random.default_rng(3), []
    for rows in metrics.cluster_resamples(clusters, 60, rng):
        column = rng.integers(x.shape[1])
        rhos.append(metrics.spearman(x[rows, column], y[rows, column]))
        assert len(rows) == 18
    expected = float.fromhex("0x1.1bc559cbb2fe5p-2"), float.fromhex("0x1.d5653b3cb2d00p-1")
    assert metrics.percentile_interval(rhos) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("band", "expected"),
    [
        (
            lambda: metrics.auroc_band(SCORES, PASSED, TASKS, n_boot=200, rng=2),
            (0.5675, 0.3747509016443548, 0.7448565323565324),
        ),
        (
            lambda: metrics.spearman_band(SCORES, PASSED, TASKS, n_boot=200, rng=2),
            (0.11034203797496063, -0.20722216518067246, 0.40608635646186786),
        ),
        (
            lambda: metrics.sharpening_tax(BASE, POST, 8, n_boot=200, rng=7).tax_S.at(8),
            (-0.10310762985853988, -0.18167891689780266, 0.02218641731399027),
        ),
        (
            lambda: metrics.sharpening_tax(POST, HISTOGRAM, 8, n_boot=200, rng=7).tax_S.at(8),
            (0.24534005822008442, 0.10579687146682211, 0.3203060027883829),
        ),
        (
            lambda: metrics.selection(SCORES, PASSED, TASKS, [3], n_boot=200, rng=4).success.at(1),
            (0.3833333333333333, 0.22479166666666664, 0.5666666666666665),
        ),
        (
            lambda: (
                metrics.attribution(
                    np.arange(30) % 4, np.arange(30) % 5, n_boot=200, rng=4
                ).distance
            ),
            (1.4333333333333333, 1.0666666666666667, 1.8008333333333335),
        ),
    ],
    ids=["auroc", "spearman", "paired tax", "tax of a histogram", "selection", "attribution"],
)
def test_intervals_stay_what_they_were(band, expected):
    assert band() == pytest.approx(expected, rel=1e-12)


def test_the_interval_of_a_crossover_stays_on_whole_budgets():
    crossover = metrics.sharpening_tax(POST, HISTOGRAM, 8, n_boot=200, rng=7).crossover
    assert crossover == (1, 1, 4, 1)


def test_undefined_replicates_are_left_out_of_every_interval():
    samples = np.array([np.nan, *np.arange(101.0)])
    assert metrics.percentile_interval(samples) == (2.5, 97.5)
    assert bootstrap.scalar_band(np.array([50.0, *samples])) == (50, 2.5, 97.5)


def test_without_replicates_there_is_no_interval():
    assert np.isnan(metrics.percentile_interval([])).all()
    assert np.isnan(metrics.percentile_interval([np.nan])).all()
    assert np.isnan(bootstrap.outward_interval([])).all()


def test_a_narrower_level_leaves_more_out():
    assert metrics.percentile_interval(np.arange(101), level=0.5) == (25, 75)


def test_infinite_budgets_are_not_interpolated():
    assert bootstrap.outward_interval([3.0, 4.0, np.inf]) == (3, np.inf)


# --- t-intervals over seeds -----------------------------------------------------------------------


def test_it_is_the_interval_of_the_t_test_of_one_sample():
    values = [0.02, -0.01, 0.05, 0.03, 0.00]
    band = t_interval(values)
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert band == pytest.approx((np.mean(values), *theirs))


def test_a_lower_level_narrows_it():
    wide, narrow = (t_interval([1.0, 2.0, 4.0], level) for level in (0.95, 0.5))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


@pytest.mark.parametrize("values", [[0.1], [0.1, 0.2]])
def test_fewer_than_three_seeds_have_a_mean_and_no_interval(values):
    band = t_interval(values)
    assert band.value == pytest.approx(np.mean(values))
    assert np.isnan([band.low, band.high]).all()


def test_no_seed_is_undefined():
    assert np.isnan(t_interval([])).all()


def test_equal_differences_have_an_interval_of_no_width():
    assert t_interval([0.25] * 4) == (0.25, 0.25, 0.25)


def test_an_undefined_difference_makes_all_undefined():
    assert np.isnan(t_interval([0.1, np.nan, 0.2, 0.3])).all()


def test_differences_come_one_a_seed():
    with pytest.raises(ValueError, match=r"shape \(2, 2\): expected one a seed"):
        t_interval(np.zeros((2, 2)))
