"""Every aggregation as a selector, and the choice among them on half of the tasks."""

import pytest
from matplotlib.figure import Figure

from lib import plotting
from lib.advantage.aggregation_choice import aggregation_grid, aggregation_table, chosen_on_half
from tests import scored_attempts

SETTING = scored_attempts.setting()


def test_every_aggregation_has_a_place_in_the_grid():
    grid = aggregation_grid(aggregation_table(SETTING, 2), "best")
    assert grid.shape == (8, 6)
    assert grid.notna().all(axis=None)


def test_a_chosen_aggregation_is_reported_on_the_other_half():
    table = chosen_on_half(SETTING, 2, n_boot=100)
    assert list(table["kind"]) == ["chosen", "fixed"] * 2
    assert table["gain"].to_numpy() == pytest.approx(table["success"] - table["pass@1"])


def test_the_axes_of_a_grid_say_what_is_put_together():
    grid = aggregation_grid(aggregation_table(SETTING, 2), "best")
    ax = plotting.plot_aggregations(grid, middle=0.5, ax=Figure().subplots())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("over the steps", "over a step's tokens")
