"""Runs of the lab on the spot."""

import pytest

from lib.lab import plan, results
from lib.lab.smoke import train_small

RUNS = {run.method: run for run in plan.PRIMARY if run.seed == 0}


@pytest.mark.slow
@pytest.mark.skipif(
    not plan.LAB.kept_folder(RUNS["ptgs"].base).exists(), reason="no base: make lab"
)
def test_a_small_run_gives_tables_like_the_labs():
    chosen = [RUNS["yoked"], RUNS["ptgs"]]
    evaluations, steps = train_small(chosen, steps=1, tasks=2, attempts=8, progress=False)
    assert set(results.scores(evaluations, K=8)["sampler"]) == {"ptgs", "yoked"}
    assert set(results.base_scores(evaluations, K=8)["temperature"]) == set(plan.BASE_TEMPERATURES)
    by_method = steps.set_index("sampler")
    theirs = by_method.loc["ptgs", "temperature_mean"]
    assert by_method.loc["yoked", "temperature_max"] == pytest.approx(theirs)
    theirs = results.select(results.read("steps"), algorithm="grpo").dropna(axis=1, how="all")
    assert set(theirs) <= set(steps)


def test_a_run_that_replays_needs_the_run_that_it_replays():
    with pytest.raises(ValueError, match="replays the temperatures of the ptgs run of its seed"):
        train_small([RUNS["yoked"]], steps=1)


@pytest.mark.parametrize("sizes", [{"steps": 0}, {"tasks": "2"}, {"attempts": 4}])
def test_sizes_are_checked_before_the_training(sizes):
    with pytest.raises(ValueError, match=r"= .*: expected a whole number, at least [18]"):
        train_small([RUNS["ptgs"]], **sizes)
