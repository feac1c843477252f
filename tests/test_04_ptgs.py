"""Artifact 04: the committed results are whole where they are there, and its verdicts follow."""

import json

import pytest

from lib import ROOT
from lib.claims import MIME
from lib.lab import plan, results, tables
from lib.reporting.notebook_parameters import known_parameters

NOTEBOOK = ROOT / "notebooks" / "04_ptgs.ipynb"
EVALUATIONS = results.read("evaluations")
STEPS = results.read("steps")
SCORES = tables.of_runs(results.scores(EVALUATIONS), plan.PRIMARY)


def test_every_evaluation_has_all_tasks_and_attempts():
    told = [*results.RUN, "kind", "split", "temperature", "cue", "parser"]
    assert set(EVALUATIONS.groupby(told).size()) == {plan.TASKS}
    assert set(EVALUATIONS["n"]) == {plan.ATTEMPTS}
    assert EVALUATIONS["c"].between(0, plan.ATTEMPTS).all()


def test_every_run_has_all_its_steps_and_was_evaluated():
    assert set(STEPS.groupby(results.RUN).size()) == {200}
    evaluated = EVALUATIONS[EVALUATIONS["kind"] == "post"][results.RUN].drop_duplicates()
    assert len(STEPS[results.RUN].drop_duplicates().merge(evaluated)) == len(evaluated)


def heats(sampler, column):
    part = results.select(STEPS, world="sokoban", algorithm="grpo", sampler=sampler, rate=3e-4)
    return part.set_index(["seed", "step"])[column]


def test_yoked_runs_have_the_mean_heat_of_their_ptgs_run_at_every_step():
    yoked = heats("yoked", "temperature_max")
    theirs = heats("ptgs", "temperature_mean").reindex(yoked.index)
    assert yoked.to_numpy() == pytest.approx(theirs.to_numpy())


def test_shuffled_runs_have_the_heats_of_their_ptgs_run():
    for end in ("min", "mean", "max"):
        shuffled = heats("shuffled", f"temperature_{end}")
        theirs = heats("ptgs", f"temperature_{end}").reindex(shuffled.index)
        assert shuffled.to_numpy() == pytest.approx(theirs.to_numpy())


def test_the_parameters_choose_world_algorithm_arms_seeds_and_source():
    wanted = {"source", "world", "algorithm", "arms", "seeds", "figures_dir"}
    assert wanted <= set(known_parameters(NOTEBOOK))


def saved_claims():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    outputs = [one for cell in cells for one in cell.get("outputs", [])]
    return [claim for one in outputs for claim in one.get("data", {}).get(MIME, [])]


def test_the_saved_verdicts_are_about_what_was_fixed_beforehand():
    late = ("exploratory", "headline")
    found = [claim for claim in saved_claims() if not any(word in claim["claim"] for word in late)]
    assert [claim["claim"].partition(":")[2].strip() for claim in found] == ["sokoban, grpo"] * 4
    if SCORES["seed"].nunique() < 3:
        assert {claim["verdict"] for claim in found} <= {"undecided", "not tested here"}
