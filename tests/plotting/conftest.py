"""Figures of a test are closed after it."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _fresh_figures():
    mpl.use("Agg")
    with mpl.rc_context():
        yield
    plt.close("all")
