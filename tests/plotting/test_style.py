"""The house style: panels, and arms that can be distinguished in grey."""

import matplotlib as mpl
import numpy as np

from lib import plotting


def test_panels_leave_no_empty_frames():
    figure, axes = plotting.panels(["a", "b", "c", "d"])
    assert [ax.get_title(loc="left") or ax.get_title() for ax in axes] == ["a", "b", "c", "d"]
    assert sum(ax.axison for ax in figure.axes) == 4


def test_arms_differ_in_lightness_and_line():
    light = [np.dot(mpl.colors.to_rgb(c), (0.3, 0.59, 0.11)) for c in plotting.COLOURS.values()]
    assert abs(light[0] - light[1]) > 0.2
    assert plotting.STYLES["base"] != plotting.STYLES["post"]
