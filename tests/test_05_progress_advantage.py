"""Artifacts 05 and 07: the committed scores are whole, and the saved verdicts follow from them."""

import json

import numpy as np
import pytest

from lib import ROOT
from lib.advantage import selection as selectors
from lib.claims import MIME
from lib.lab import plan, results
from lib.reporting.notebook_parameters import known_parameters

FIRST, SECOND = (
    ROOT / "notebooks" / f"{name}.ipynb"
    for name in ("05_progress_advantage", "07_failure_attribution")
)
TABLE = results.read("scores")
CELLS = selectors.cells(TABLE)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.label)
def test_every_cell_has_all_tasks_and_attempts(cell):
    assert len(cell.table) + cell.left_out == plan.TASKS * plan.SCORED_ATTEMPTS
    assert len(np.unique(cell.tasks)) == plan.TASKS
    assert (cell.scored.policy <= 0).all()
    assert (cell.scored.policy_top <= 0).all()


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.label)
def test_only_failures_of_sokoban_have_a_decisive_step(cell):
    known = cell.table["decisive"].notna()
    expected = ~cell.table["passed"].astype(bool) & (cell.world == "sokoban")
    assert (known == expected).all()
    assert (cell.table["decisive"] < cell.table["turns"]).fillna(True).all()


def test_what_is_scored_was_planned():
    planned = {(one.policy.name, one.attempts_by.name) for one in plan.SCORES}
    assert {(cell.policy.name, cell.by) for cell in CELLS} <= planned


@pytest.mark.parametrize("notebook", [FIRST, SECOND], ids=lambda path: path.stem)
def test_the_parameters_choose_source_resamples_and_seed(notebook):
    assert {"source", "n_boot", "seed", "figures_dir"} <= set(known_parameters(notebook))


def saved_claims(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [one for cell in cells for one in cell.get("outputs", [])]
    return [claim for one in outputs for claim in one.get("data", {}).get(MIME, [])]


def test_the_saved_verdicts_are_about_every_usual_cell():
    usual = [
        cell.label for cell in CELLS if cell.policy.method == "fixed" and "of" not in cell.sampler
    ]
    about = [claim["claim"].partition(": ")[2] for claim in saved_claims(FIRST)]
    assert list(dict.fromkeys(about)) == usual


def test_who_and_when_is_not_claimed_without_a_pair():
    found = [claim for claim in saved_claims(SECOND) if "Who & When" in claim["claim"]]
    assert {claim["verdict"] for claim in found} == {"not tested here"}
