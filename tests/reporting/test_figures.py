"""Figures are saved the same way every time."""

import matplotlib.pyplot as plt

from lib import claims, plotting
from lib.reporting import save_figure


def test_figures_are_saved_as_the_same_bytes(tmp_path):
    plotting.use_house_style()
    studies = claims.study(claims.load("published", pairs=["gemma-4-31B"]), n_boot=40)
    for name in ("one", "two"):
        figure, ax = plt.subplots()
        plotting.plot_coverage(studies[0].tax, ax=ax)
        save_figure(figure, "f", tmp_path / name)
        plt.close(figure)
    for suffix in ("png", "svg"):
        assert (tmp_path / f"one/f.{suffix}").read_bytes() == (
            tmp_path / f"two/f.{suffix}"
        ).read_bytes()
