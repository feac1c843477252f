"""What the lab's tables come to: scores, differences, claims, tables for people."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lib import claims, metrics
from lib.claims import seed_differences
from lib.lab import claims as lab_claims
from lib.lab import plan, results, tables
from tests import lab_runs

TABLE = lab_runs.evaluations()
SCORES = results.scores(TABLE, K=8)


def of(sampler, measure, scores=SCORES):
    return scores[scores["sampler"] == sampler][measure].to_numpy()


def test_a_run_with_the_outcomes_of_its_base_pays_nothing():
    same = {**lab_runs.COUNTS, "fixed": lab_runs.COUNTS["base"]}
    scores = results.scores(lab_runs.evaluations(counts=same), K=8)
    for measure in ("Tax_A", "Tax_S", "gap@8"):
        assert of("fixed", measure, scores) == pytest.approx(0)
    assert np.isinf(of("fixed", "crossover", scores)).all()


def test_tasks_always_or_never_solved_have_no_area_so_the_tax_is_all_of_the_bases():
    base = results.base_scores(TABLE, K=8, temperature=0.5).iloc[0]
    assert of("fixed", "A") == pytest.approx(0)
    assert of("fixed", "Tax_A") == pytest.approx(base["A"])
    assert of("fixed", "Tax_S") == pytest.approx(base["S"])
    assert of("fixed", "gap@8") == pytest.approx(0.5)
    assert of("fixed", "crossover") == pytest.approx(2)


def test_a_base_that_was_not_evaluated_leaves_the_tax_undefined():
    scores = results.scores(TABLE[TABLE["kind"] == "post"], K=8)
    assert np.isnan(scores[["Tax_A", "Tax_S", "gap@8", "crossover"]]).all(axis=None)
    assert of("ptgs", "pass@1", scores) == pytest.approx(0.75)


def test_curves_are_those_of_the_estimator_with_the_base_first():
    curves = results.curves(TABLE, K=8)
    assert curves["sampler"].iloc[0] == "base"
    fixed = curves[(curves["sampler"] == "ptgs") & (curves["seed"] == 1)]
    expected = metrics.coverage_curve((np.array([4, 8]), np.array([8, 8])), 8)
    assert fixed["coverage"].to_numpy() == pytest.approx(expected)


def test_the_budget_is_what_every_task_allows():
    assert results.budget(TABLE) == 8


def test_differences_of_constants_are_their_difference_without_width():
    found = seed_differences.differences(SCORES, "pass@1", "ptgs", "fixed").iloc[0]
    assert found[["value", "low", "high"]].tolist() == pytest.approx([0.25] * 3)
    assert found["seeds"] == 3


def test_a_seed_without_either_method_is_left_out():
    some = SCORES[(SCORES["sampler"] != "fixed") | (SCORES["seed"] != 1)]
    assert seed_differences.differences(some, "pass@1", "ptgs", "fixed")["seeds"].item() == 2


def test_a_method_that_was_not_run_gives_no_row_and_all_columns():
    found = seed_differences.differences(SCORES, "pass@1", "ptgs", "shuffled", by=["world"])
    assert found.empty
    assert {"world", "value", "low", "high", "seeds"} <= set(found)


def test_runs_that_are_not_told_apart_are_refused():
    twice = pd.concat([SCORES, SCORES.assign(rate=1e-4)])
    with pytest.raises(ValueError, match=r"several runs of one method and seed .* name in `by`"):
        seed_differences.differences(twice, "pass@1", "ptgs", "fixed")
    found = seed_differences.differences(twice, "pass@1", "ptgs", "fixed", by=["rate"])
    assert found["rate"].tolist() == [3e-4, 1e-4]


def test_a_folder_without_the_table_says_what_was_expected(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"steps\.parquet: expected a folder that has"):
        results.read("steps", tmp_path)


def test_missing_results_say_what_writes_them(tmp_path):
    with pytest.raises(FileNotFoundError, match="make lab writes it"):
        results.read("steps", tmp_path)


def test_a_relative_folder_counts_from_the_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not results.read("pilots", "data/lab").empty


def test_runs_of_the_plan_are_chosen_by_name():
    found = plan.runs(["sokoban"], ["grpo"], ["shuffled"], [1])
    assert [run.name for run in found] == ["sokoban-0.25M-grpo-shuffled-0.0003-1"]
    with pytest.raises(ValueError, match="method 'hot': the lab has fixed, ptgs, yoked"):
        plan.runs(methods=["hot"])
    for bad in ([], "ptgs", 0):
        with pytest.raises(ValueError, match=r"methods = .*: expected a list of some of fixed"):
            plan.runs(methods=bad)


# --- claims ---------------------------------------------------------------------------------------


def verdicts(table, K=8, world="sokoban"):
    return lab_claims.ptgs_claims(results.scores(table, K=K), world, "grpo", K)


def test_claims_follow_the_sign_of_each_measure():
    tax, coverage, *_ = verdicts(TABLE)
    assert tax.value == pytest.approx(of("ptgs", "Tax_S")[0] - of("fixed", "Tax_S")[0])
    assert (tax.verdict, coverage.verdict) == ("holds", "holds")
    assert coverage.value == pytest.approx(0.5)


def test_the_other_way_round_is_contradicted():
    swapped = {**lab_runs.COUNTS, "fixed": (4, 8), "ptgs": (0, 8)}
    found = verdicts(lab_runs.evaluations(counts=swapped))
    assert [claim.verdict for claim in found[:2]] == ["contradicted", "contradicted"]


def test_fewer_than_three_seeds_decide_nothing():
    found = verdicts(lab_runs.evaluations(seeds=(0, 1)))
    assert {claim.verdict for claim in found} == {"no interval"}
    assert "fewer than 3 give no interval" in found[0].why


def test_a_method_that_was_not_run_is_not_tested():
    *_, tax, coverage = verdicts(lab_runs.evaluations(methods=("fixed", "ptgs")))
    assert (tax.verdict, coverage.verdict) == ("not tested here",) * 2
    assert tax.published == "no such control"


def of_128(seeds, **options):
    table = results.scores(lab_runs.evaluations(seeds=seeds), K=8)
    table = table.rename(columns={"pass@8": "pass@128"})
    return lab_claims.ptgs_claims(table, "sokoban", "grpo", **options)


def test_only_what_was_fixed_beforehand_is_not_exploratory():
    first = of_128(plan.SEEDS, committed=True)
    assert not any("exploratory" in claim.statement for claim in first)
    assert first[0].published.startswith("0.081 to 0.025")
    others = [
        lab_claims.ptgs_claims(SCORES, "sokoban", "grpo", 8, committed=True),
        of_128(plan.SEEDS[:3], committed=True),
        of_128(plan.SEEDS),  # a live run may have as many attempts
    ]
    assert all("exploratory" in claim.statement for found in others for claim in found)


def test_small_differences_are_shown_to_three_decimals():
    assert verdicts(TABLE)[1].row()["value"] == "0.500"


def pilots(tempered=0.75):
    methods = {"fixed": 0.5, "matched": 0.75, "ptgs": tempered}
    return pd.DataFrame(
        {"world": "w", "policy": "base", "seed": seed, "method": method, "total": total}
        | {"coverage": level + 0.05 * seed, "mean_temperature": 1.1}
        for seed in (0, 1, 2)
        for method, level in methods.items()
        for total in (16, 32)
    )


def test_pilots_are_put_to_a_claim_at_the_largest_total():
    (aiming,) = claims.pilot_claims(pilots(1.0))
    assert (aiming.verdict, aiming.value) == ("holds", pytest.approx(0.25))
    assert "at 32 rollouts" in aiming.statement
    assert "3 seeds, higher in 3; fixed 0.550" in aiming.why
    assert claims.pilot_claims(pilots(0.25))[0].verdict == "contradicted"
    assert claims.pilot_claims(pilots())[0].value == pytest.approx(0)
    assert len(claims.pilot_claims(pilots()[:0])) == 0


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "-"),
        ([0.5], "0.50"),
        ([0.4, 0.6], "0.50 ± 0.14"),
        ([np.inf, 2, 4], "3.00 ± 1.41; none in 1"),
        ([np.inf], "none in 1"),
        ([np.nan], "-"),
    ],
)
def test_seeds_are_shown_as_mean_and_deviation(values, text):
    assert tables.mean_sd(values, 2) == text


def test_methods_that_were_not_run_are_in_the_table():
    wanted = [*lab_runs.runs(seeds=plan.SEEDS), *plan.runs(["sokoban"], ["grpo"], ["shuffled"])]
    table = tables.over_seeds(SCORES, ["sampler"], {"pass@1": 3}, wanted).set_index("sampler")
    assert table.loc["ptgs"].tolist() == ["0.750 ± 0.000", "3 of 5"]
    assert table.loc["shuffled"].tolist() == ["-", "not run yet"]


def test_the_methods_are_shown_wherever_they_were_evaluated():
    table = tables.method_table(TABLE, lab_runs.runs(), 8)
    assert len(table) == 3 * len(tables.WHERE)
    assert {"pass@8", "Tax_A(8)", "Tax_S(8)"} <= set(table)


def test_differences_name_what_is_primary_and_what_was_not_run():
    every = [run for run in plan.RUNS if run.size == plan.Run.size]
    assert set(tables.differences(TABLE, every, 8, committed=True)["status"]) == {"exploratory"}
    small = replace(plan.LAB, attempts=8, seeds=(0, 1, 2))
    assert set(tables.differences(TABLE, every, 8, lab=small)["status"]) == {"exploratory"}
    found = tables.differences(TABLE, every, 8, committed=True, lab=small)
    primary = found[found["status"] == "primary"]
    assert set(primary["against"]) == {"fixed", "yoked"}
    assert set(primary["evaluated"]) == {"held-out tasks, T = 0.5"}
    table = tables.difference_table(found)
    assert table["seeds"].tolist().count("3") == 2 * len(tables.WHERE)
    assert set(table["seeds"]) == {"3", "not run yet"}
    assert table["pass@8"].iloc[0] == "0.500 [0.500, 0.500]"


def test_provenance_counts_runs_steps_and_attempts():
    text = tables.provenance(TABLE, lab_runs.steps(), lab_runs.runs())
    assert text == "9 of 9 runs of 30 steps, each evaluated on 2 tasks a split, 8 attempts a task"
    assert tables.provenance(TABLE[:0], lab_runs.steps(), lab_runs.runs()) == "0 of 9 runs"


def test_the_paper_stands_beside_every_row_it_prints():
    table = tables.paper_table(TABLE, 8).set_index("setting")
    assert table.loc["sokoban, grpo, ptgs", "pass@128 paper"] == "0.725"
    assert table.loc["sokoban, grpo, ptgs", "pass@8 here"] == "1.000 ± 0.000"
    assert table.loc["frozenlake, ppo, ptgs", "seeds"] == "not run yet"


def test_pilots_are_shown_by_their_totals():
    rows = [
        {"world": "w", "policy": "base", "seed": seed, "method": "ptgs", "total": 16}
        | {"coverage": 0.5, "mean_temperature": 1.1}
        for seed in (0, 1)
    ]
    table = tables.pilot_table(pd.DataFrame(rows))
    assert table["coverage"].tolist() == ["0.500 ± 0.000"]
    assert tables.pilot_table(pd.DataFrame(columns=list(rows[0]))).empty
