"""Scored attempts of the lab: what selectors pick, chosen aggregations, early warning, claims."""

import numpy as np
import pytest

from lib import claims, plotting
from lib.advantage import selection as selectors
from lib.lab import plan
from lib.lab import scored as scored_tables
from lib.lab import scores as scoring
from tests import scored_attempts

CELL = scored_attempts.cell()


def test_a_table_of_scores_is_read_as_it_was_written():
    scored = CELL.scored
    written = scoring.as_table(scored, None, [None] * len(scored))
    read = scored_tables.as_scored(written)
    for name in ("steps", "counts", "tokens", "policy", "policy_top", "reference"):
        np.testing.assert_array_equal(getattr(read, name), getattr(scored, name))
    assert read.passed == scored.passed


def test_attempts_without_an_outcome_are_left_out_and_counted():
    table = scored_attempts.table()
    table.loc[[3, 7], "passed"] = None
    cell = selectors.cells(table)[0]
    assert (len(cell.table), len(cell.scored), cell.left_out) == (46, 46, 2)


def test_cells_are_named_by_whose_attempts_they_hold():
    table = scored_attempts.table()
    found = [selectors.cells(table.assign(by=by))[0].label for by in (
        scored_attempts.POLICY.name, "sokoban-0.25M-base-85", "sokoban-1M-base-85"
    )]  # fmt: skip
    assert found == ["sokoban: post-trained", "sokoban: base", "sokoban: base of 1M"]


def test_one_world_in_the_place_of_a_list_is_refused():
    with pytest.raises(TypeError, match=r"worlds is 'desk': expected a list, \['desk'\]"):
        selectors.cells(scored_attempts.table(), "desk")


def test_settings_that_share_their_attempts_are_told():
    one = scored_attempts.cell()
    said = selectors.attempts_in_words([one, one])
    assert said.startswith("2 settings of 1 sets of attempts; the same attempts")
    assert selectors.attempts_in_words([one]) == "1 settings of 1 sets of attempts"


def test_what_is_planned_and_not_there_is_named():
    names = selectors.absent(scored_attempts.table())
    assert len(names) == len(plan.SCORES) - 1
    assert plan.SCORES[0].name not in names


def test_progress_advantage_picks_what_it_prefers():
    found = selectors.pick_table(CELL, [4], 100, 0).set_index("selector")
    assert found.loc[selectors.PROGRESS, "success"].value == pytest.approx(1)
    assert found.loc[selectors.PROGRESS, "share"].value == pytest.approx(1)
    assert found.loc["policy log-prob", "success"].value == pytest.approx(0.5)


def test_standings_count_the_cells_in_which_progress_advantage_does_better():
    cells = {"right": CELL, "wrong": scored_attempts.cell(right=False)}
    found = {
        name: {
            selector: selectors.select(cell, scores, [1, 4], 100, 0)
            for selector, scores in selectors.selectors(cell).items()
        }
        for name, cell in cells.items()
    }
    sets = {"right": "a", "wrong": "b"}
    table = selectors.standings(found, 4, sets)
    assert selectors.PROGRESS not in table.index
    assert table.loc["one attempt"].to_list() == [1, 1, 0, 1, 1]
    assert table.loc["reward model"].to_list() == [0, 1, 1, 0, 1]
    assert selectors.standings(found, 1, sets).loc["one attempt"].to_list() == [0, 0, 2, 0, 0]


def test_standings_tell_settings_from_sets_of_attempts():
    picked = {
        name: selectors.select(CELL, scores, [4], 100, 0)
        for name, scores in selectors.selectors(CELL).items()
    }
    row = selectors.standings({"x": picked, "y": picked}, 4, {"x": "a", "y": "a"}).iloc[0]
    assert (row["better"], row["better_sets"]) == (2, 1)


def test_the_axes_of_a_grid_say_what_is_put_together():
    grid = selectors.aggregation_grid(selectors.aggregation_table(CELL, 2), "best")
    ax = plotting.plot_aggregations(grid, middle=0.5)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("over the steps", "over a step's tokens")


def test_every_aggregation_has_a_place_in_the_grid():
    grid = selectors.aggregation_grid(selectors.aggregation_table(CELL, 2), "best")
    assert grid.shape == (8, 6)
    assert grid.notna().all(axis=None)


def test_a_chosen_aggregation_is_reported_on_the_other_half():
    found = selectors.chosen_on_half(CELL, 2, n_boot=100)
    assert list(found["kind"]) == ["chosen", "fixed"] * 2
    assert found["gain"].to_numpy() == pytest.approx(found["success"] - found["pass@1"])


def test_an_early_score_knows_nothing_of_later_steps():
    found = selectors.early_table(CELL, 100, 0)
    ours = found[(found["selector"] == selectors.PROGRESS) & (found["compared"] == "pooled")]
    assert list(ours["turn"]) == [1, 2]
    assert list(ours["running"]) == [48, 36]
    assert list(ours["value"]) == [1, 1]  # 0.2 against 0.1 in the first step


def test_a_transcript_has_its_words_step_by_step():
    steps = selectors.transcript(CELL, 1, dict(enumerate("abcdef")))
    assert ["".join(step["words"]) for step in steps] == ["ab", "cd", "ef"]
    assert steps[1][selectors.PROGRESS] == pytest.approx([-0.9, -0.9])


def test_two_attempts_are_of_one_task():
    success, failure = (CELL.table.loc[row] for row in selectors.two_attempts(CELL))
    assert success["passed"]
    assert not failure["passed"]
    assert success["task"] == failure["task"]


@pytest.mark.parametrize(("right", "expected"), [(True, "holds"), (False, "contradicted")])
def test_claims_follow_from_the_scores(right, expected):
    found = claims.advantage_claims([scored_attempts.cell(right=right)], 4, n_boot=100)
    assert [claim.verdict for claim in found] == [expected] * 4


def test_claims_without_attempts_are_not_tested():
    assert [claim.verdict for claim in claims.advantage_claims([])] == ["not tested here"]


def test_pictures_are_drawn():
    plotting.use_house_style()
    found = {selectors.PROGRESS: selectors.select(
        CELL, selectors.selectors(CELL)[selectors.PROGRESS], np.arange(1, 5), 100, 0
    )}  # fmt: skip
    grid = selectors.aggregation_grid(selectors.aggregation_table(CELL, 2), "best")
    early = selectors.early_table(CELL, 100, 0)
    steps = selectors.transcript(CELL, 1, dict(enumerate("abcdef")))
    figure, axes = plotting.panels("abcde", share=False)
    plotting.plot_selection(found, ax=axes[0])
    plotting.plot_deployable({"base": found, "post-trained": found}, ax=axes[1])
    plotting.plot_aggregations(grid, middle=0.5, ax=axes[2])
    plotting.plot_early(early[early["compared"] == "pooled"], ax=axes[3])
    plotting.plot_transcript(steps, selectors.PROGRESS, reach=1, ax=axes[4])
    plotting.selector_legend(figure, list(plotting.SELECTORS))
    figure.canvas.draw()


def test_a_largest_budget_is_a_whole_number():
    cells = [CELL]
    assert selectors.budget(cells, 1) == 1
    assert selectors.budget(cells, 10**6) == selectors.budget(cells)
    for bad in (0, 1.5, "8"):
        with pytest.raises(
            ValueError, match=r"the largest budget is .*: it must be a whole number"
        ):
            selectors.budget(cells, bad)
