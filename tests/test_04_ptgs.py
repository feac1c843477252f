"""Artifact 04: the committed results are whole where they are there, and its verdicts follow."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.special import comb

from lib import ROOT
from lib.claims import MIME
from lib.lab import plan, results
from lib.reporting.notebook_parameters import known_parameters

NOTEBOOK = ROOT / "notebooks" / "04_ptgs.ipynb"
EVALUATIONS = results.read("evaluations")
STEPS = results.read("steps")


def test_every_evaluation_has_all_tasks_and_attempts():
    columns = [*results.RUN, "kind", "split", "temperature", "cue", "parser"]
    assert set(EVALUATIONS.groupby(columns).size()) == {plan.TASKS}
    assert set(EVALUATIONS["n"]) == {plan.ATTEMPTS}
    assert EVALUATIONS["c"].between(0, plan.ATTEMPTS).all()


def test_every_run_has_all_its_steps_and_was_evaluated():
    assert set(STEPS.groupby(results.RUN).size()) == {200}
    evaluated = EVALUATIONS[EVALUATIONS["kind"] == "post"][results.RUN].drop_duplicates()
    assert len(STEPS[results.RUN].drop_duplicates().merge(evaluated)) == len(evaluated)


def temperatures(method, column):
    part = results.select(STEPS, world="sokoban", algorithm="grpo", sampler=method, rate=3e-4)
    return part.set_index(["seed", "step"])[column]


def test_yoked_runs_have_the_mean_temperature_of_their_ptgs_run_at_every_step():
    yoked = temperatures("yoked", "temperature_max")
    theirs = temperatures("ptgs", "temperature_mean").reindex(yoked.index)
    assert yoked.to_numpy() == pytest.approx(theirs.to_numpy())


def test_shuffled_runs_have_the_temperatures_of_their_ptgs_run():
    for end in ("min", "mean", "max"):
        shuffled = temperatures("shuffled", f"temperature_{end}")
        theirs = temperatures("ptgs", f"temperature_{end}").reindex(shuffled.index)
        assert shuffled.to_numpy() == pytest.approx(theirs.to_numpy())


def test_the_parameters_choose_environment_algorithm_methods_seeds_and_source():
    wanted = {"source", "environment", "algorithm", "methods", "seeds", "figures_dir"}
    assert wanted <= set(known_parameters(NOTEBOOK))


def saved_claims():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return [claim for output in outputs for claim in output.get("data", {}).get(MIME, [])]


def primary_claims():
    late = ("exploratory", "headline")
    return [claim for claim in saved_claims() if not any(word in claim["claim"] for word in late)]


def test_the_saved_verdicts_are_about_what_was_fixed_beforehand():
    about = [claim["claim"].partition(":")[2].strip() for claim in primary_claims()]
    assert about == ["sokoban, grpo"] * 4


# --- the verdicts anew, from the counts and textbook formulas alone -------------------------------

K = plan.ATTEMPTS


def measures(rows):
    """S(K) and pass@K of the counts of one model, from 1 - C(n-c, k) / C(n, k)."""
    k = np.arange(1, K + 1)
    curve = np.mean([1 - comb(K - c, k) / comb(K, k) for c in rows["c"]], axis=0)
    return np.sum(curve[-1] - curve) / ((K - 1) * (1 - curve[0])), curve[-1]


def primary_measures(method):
    """S(K) and pass@K of each seed of a method, [seeds, 2]."""
    held_out = results.select(
        EVALUATIONS, world="sokoban", algorithm="grpo", sampler=method, rate=3e-4, size="0.25M",
        split="test", temperature=0.5, kind="post", cue=False, parser="exact",
    )  # fmt: skip
    return np.array([measures(rows) for _, rows in held_out.groupby("seed")])


def verdict(differences, direction):
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(len(differences))
    reach = stats.t.ppf(0.975, len(differences) - 1) * error
    low, high = sorted((direction * (mean - reach), direction * (mean + reach)))
    return "holds" if low > 0 else "contradicted" if high < 0 else "undecided"


@pytest.mark.parametrize(("against", "first"), [("fixed", 0), ("yoked", 2)])
def test_the_saved_verdicts_follow_from_the_counts(against, first):
    S, coverage = (primary_measures("ptgs") - primary_measures(against)).T
    tax, solved = primary_claims()[first : first + 2]
    # The base's S(K) is the same for both methods: their taxes differ by minus their S(K).
    assert (tax["claim"].split()[2], solved["claim"].split()[2]) == ("Tax_S(128)", "pass@128")
    assert tax["verdict"] == verdict(-S, -1)
    assert solved["verdict"] == verdict(coverage, +1)
    assert float(tax["value"].split()[0]) == pytest.approx(-S.mean(), abs=6e-4)
    assert float(solved["value"].split()[0]) == pytest.approx(coverage.mean(), abs=6e-4)
