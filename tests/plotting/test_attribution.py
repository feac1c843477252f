"""Pictures of failure attribution."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lib import plotting

ROWS = pd.DataFrame(
    {
        "scorer": ["a", "a", "first step", "last step"],
        "rule": ["lowest score", "sharpest drop", "no score", "no score"],
        "accuracy": [0.3, 0.2, 0.1, 0.11],
    }
)
ROWS = ROWS.assign(accuracy_low=ROWS["accuracy"] - 0.05, accuracy_high=ROWS["accuracy"] + 0.05)


def test_guesses_are_lines_with_their_names_apart():
    ax = plotting.plot_attribution(ROWS)
    first, last = (text for text in ax.texts if text.get_text() in ("first step", "last step"))
    assert last.get_position()[0] - first.get_position()[0] > 0.01  # further than the guesses
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a"]


def test_the_best_guess_is_black():
    colours = {text.get_text(): text.get_color() for text in plotting.plot_attribution(ROWS).texts}
    assert colours == {"first step": plotting.GREY, "last step": "black"}


def test_guesses_alone_say_that_nothing_is_scored():
    ax = plotting.plot_attribution(ROWS[ROWS["rule"] == "no score"])
    assert "no score names a step" in [text.get_text() for text in ax.texts]


def test_shares_of_decisive_steps_stand_above_their_bars():
    ax = plotting.plot_decisive([0, 1, 1, 1, np.nan], last=3, ax=plt.figure().gca())
    assert [text.get_text() for text in ax.texts] == ["25%", "75%", "0%"]


@pytest.mark.parametrize("places", [[0.5, 0.5, 0.5], [3, 0, 0.1]])
def test_places_are_apart_and_keep_their_order(places):
    moved = plotting.apart(places, 1)
    order = np.argsort(places, kind="stable")
    assert (np.diff(moved[order]) > 1 - 1e-9).all()
    assert np.mean(moved) == pytest.approx(np.mean(places))
