"""Pictures of small MDPs."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from lib import plotting
from lib.envs.frozenlake import FrozenLake


def test_a_bar_of_errors_is_centred_on_none():
    ax = plotting.plot_spread([-1e-17, 1e-17, 0, 0.2], [1, 1, 1, 1], reach=0.2)
    edges, heights = ax.patches[0].get_xy()[:, 0], ax.patches[0].get_xy()[:, 1]
    assert np.isclose(heights, 0.75).sum() == 2
    assert edges[np.isclose(heights, 0.75)].sum() == pytest.approx(0)
    assert np.isclose(heights, 0.25).any()


def test_an_error_beyond_the_bars_is_not_dropped():
    with pytest.raises(ValueError, match=r"an error is 0.3, beyond the bars: .* got 0.2"):
        plotting.plot_spread([0, -0.3], [1, 1], reach=0.2)


def level(values, **options):
    board = FrozenLake().level("frozenlake-train-00000")
    values = np.resize(values, len(board.ends))
    return plotting.plot_level(board.ends, values, ax=plt.figure().gca(), **options).images[0]


def test_levels_beside_each_other_may_share_their_colours():
    low, high = (level([0, most], limits=(0, 2)) for most in (1, 2))
    assert low.get_clim() == high.get_clim() == (0, 2)
    assert level([0, 1]).get_clim() == (0, 1)


def test_below_and_above_zero_have_colours_of_their_own():
    image = level([-0.5, 0.5], limits=(-1, 1))
    (red, _, blue, _), (above_red, _, above_blue, _) = image.cmap(image.norm([-0.5, 0.5]))
    assert red > blue
    assert above_blue > above_red


def test_means_of_some_points_are_named():
    ax = plotting.plot_identity([0, -1], [0, -0.5], means={"worse": (-1, -0.5)})
    assert [text.get_text().strip() for text in ax.texts] == ["equal", "worse"]
