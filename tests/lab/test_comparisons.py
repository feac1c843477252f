"""The lab in the notebooks: comparisons, the harness ablation and rollouts made again."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lib import ROOT, claims
from lib.claims import harness_rates
from lib.lab import claims as lab_claims
from lib.lab import comparisons, live, plan
from lib.lab import harness_ablation as desk_ablation
from lib.lab.plan import Run
from lib.metrics.formatting import with_interval
from lib.reporting import read_batch

FIXED = Run(environment="sokoban", algorithm="grpo", method="fixed", seed=0)
PTGS = replace(FIXED, method="ptgs")
SMALL = replace(FIXED, size="0.06M", seed=1)


def evaluation(c, kind, run=FIXED, temperature=0.5, cue=False, parser="exact"):
    """Rows of an evaluation with these successes of 64 attempts, a task each."""
    base = {"algorithm": "", "sampler": "", "rate": 0.0, "seed": 0}
    told = run.settings() | (base if kind != "post" else {})
    told |= {"kind": kind, "split": "test", "temperature": temperature}
    tasks = [f"t{i}" for i in range(len(c))]
    return pd.DataFrame({"task": tasks, "n": 64, "c": c}).assign(**told, cue=cue, parser=parser)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes evaluations where the lab's results are looked for."""
    monkeypatch.setattr(plan, "DATA", tmp_path)

    def write(*parts):
        pd.concat(parts, ignore_index=True).to_parquet(tmp_path / "evaluations.parquet")

    return write


# --- comparisons ----------------------------------------------------------------------------------


def test_the_lab_is_a_source_and_shows_the_committed_runs(written):
    runs = [PTGS, FIXED, replace(FIXED, seed=3)]
    written(evaluation([3, 9], "base-85"), *(evaluation([1, 60], "post", run) for run in runs))
    shown = comparisons.load()
    assert list(dict.fromkeys(shown["pair"])) == ["grpo fixed seed 0", "grpo ptgs seed 0"]
    assert set(comparisons.load(pairs=["grpo fixed seed 3"])["pair"]) == {"grpo fixed seed 3"}
    gone = comparisons.absent(comparisons.SHOWN, shown)
    assert gone[0] == "grpo fixed seed 0 on frozenlake"
    assert len(gone) == len(comparisons.SHOWN) - 2


def test_a_run_whose_base_is_not_evaluated_yet_is_left_out(written):
    written(
        evaluation([3, 9], "base-85"),
        evaluation([1, 60], "post"),
        evaluation([2, 2], "post", SMALL),
    )
    assert set(comparisons.every()["pair"]) == {"grpo fixed seed 0"}


def test_no_results_say_who_makes_them(written):
    with pytest.raises(FileNotFoundError, match="make lab writes it"):
        comparisons.load()


def test_claims_of_the_lab_count_runs_and_group_them_by_base(written):
    rng = np.random.default_rng(0)
    runs = [FIXED, PTGS, SMALL]
    parts = [evaluation(rng.integers(0, 64, 12), "base-85", run) for run in (FIXED, SMALL)]
    written(*parts, *(evaluation(rng.integers(0, 64, 12), "post", run) for run in runs))
    studies = claims.study(comparisons.every(), n_boot=50)
    grouped = [one.comparison.pair for one in lab_claims.by_base(studies)]
    assert grouped == ["sokoban 0.25M", "sokoban 0.25M", "sokoban 0.06M"]
    found = lab_claims.tax_claims(studies)
    assert all(one.statement.startswith("in the lab, ") for one in found)
    assert all(one.published.endswith("; other models") for one in found)
    assert "of 3 runs" in found[0].why
    assert lab_claims.tax_claims([]) == []


# --- the harness ablation -------------------------------------------------------------------------

DESK = desk_ablation.trained()
READINGS = desk_ablation.READINGS


def readings(successes, kind):
    return [
        evaluation(c, kind, DESK, 1.0, *READINGS[condition]) for condition, c in successes.items()
    ]


def test_the_harness_of_the_lab_lifts_a_base_and_lowers_the_trained_model():
    table = desk_ablation.conditions(
        pd.concat(
            [
                *readings({"native": [1, 2, 3, 4] * 3, "both": [31, 32, 33, 34] * 3}, "base-35"),
                *readings({"native": [40, 42, 45, 47] * 3, "both": [30, 31, 32, 33] * 3}, "post"),
            ]
        ),
        DESK,
    )
    found = lab_claims.harness_claims(table, [1])
    assert [one.verdict for one in found] == ["holds", "not tested here", "holds"]
    assert found[0].value == pytest.approx(30 / 64)
    assert found[1].why == "needs the conditions 'native' and 'both'"
    assert len(desk_ablation.absent(table)) == 8


def test_gains_are_taken_against_the_same_model_on_the_same_tasks():
    evaluations = pd.concat(readings({"native": [0, 32] * 5, "cue": [16, 48] * 5}, "base-85"))
    table = desk_ablation.conditions(evaluations, DESK)
    gains = harness_rates.lifts(table, "native", 32, n_boot=200)
    assert list(gains["condition"]) == ["cue"]
    assert with_interval(gains["pass@1"][0]) == "0.250 [0.250, 0.250]"
    assert "valid calls" not in harness_rates.rates(table, 32, n_boot=50)


def test_an_ablation_without_results_is_empty(tmp_path):
    table = desk_ablation.read(DESK, tmp_path)
    assert len(desk_ablation.absent(table)) == 12
    assert len(harness_rates.rates(table, 32)) == len(harness_rates.lifts(table, "native", 32)) == 0
    assert lab_claims.harness_claims(table, [1]) == []


def test_the_prototypes_conditions_are_those_of_the_lab():
    before = desk_ablation.prototype()
    assert set(before["condition"]) <= set(READINGS)
    assert set(before["pair"]) <= {*desk_ablation.BASES.values(), desk_ablation.TRAINED}


# --- rollouts made again --------------------------------------------------------------------------


def test_a_live_task_succeeds_as_often_as_the_cached_one():
    [run] = live.chosen(benchmarks=["sokoban"])
    found = live.differences(live.regenerate([run], tasks=1), comparisons.every())
    assert list(found["arm"]) == ["base", "post"]
    assert list(found["cached"]) == [1, 1]
    assert found["attempts"].max() <= 1  # a draw that was nearly a tie, in a batch of another size


def test_differences_count_tasks_and_tell_those_that_are_not_cached():
    cell = {"benchmark": "b", "pair": "p", "arm": "base"}
    live_table = pd.DataFrame({"task": ["x", "y", "z"], "n": 8, "c": [1, 2, 3]}).assign(**cell)
    cached = live_table.assign(c=[1, 4, 3])[:2]
    row = live.differences(live_table, cached).iloc[0]
    assert (row["tasks"], row["cached"], row["differ"], row["attempts"]) == (3, 2, 1, 2)


def test_runs_that_cannot_be_rolled_out_are_named(tmp_path):
    empty = replace(plan.LAB, data=tmp_path)
    with pytest.raises(ValueError, match=r"no run to roll out: .* committed \(none\)"):
        live.regenerate([], lab=empty)
    with pytest.raises(FileNotFoundError, match=f"no committed models of {FIXED.name}"):
        live.regenerate([FIXED], lab=empty)


def test_reproduce_runs_the_crossover_from_all_three_sources():
    entries = read_batch(ROOT / "notebooks" / "batch.yml")
    sources = [e.parameters.get("source") for e in entries if "crossover" in e.notebook.name]
    assert sorted(map(str, sources)) == ["None", "lab", "live"]
