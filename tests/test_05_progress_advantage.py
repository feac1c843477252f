"""Artifacts 05 and 07: the committed scores are whole, and the saved verdicts follow from them."""

import json

import numpy as np
import pytest

from lib import ROOT, claims
from lib.advantage import attribution, store
from lib.claims import MIME
from lib.lab import plan, scores
from lib.lab.attribution import decisive_steps
from lib.reporting.notebook_parameters import known_parameters

FIRST, SECOND = (
    ROOT / "notebooks" / f"{name}.ipynb"
    for name in ("05_progress_advantage", "07_failure_attribution")
)
SETTINGS = scores.settings(store.read_table(plan.DATA))


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.label)
def test_every_setting_has_all_tasks_and_attempts(setting):
    assert len(setting.table) + setting.left_out == plan.TASKS * plan.SCORED_ATTEMPTS
    assert len(np.unique(setting.tasks)) == plan.TASKS
    assert (setting.scored.policy <= 0).all()
    assert (setting.scored.policy_top <= 0).all()


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.label)
def test_only_failures_of_sokoban_have_a_decisive_step(setting):
    known = setting.table["decisive"].notna()
    expected = ~setting.table["passed"].astype(bool) & setting.label.startswith("sokoban")
    assert (known == expected).all()
    assert (setting.table["decisive"] < setting.table["turns"]).fillna(True).all()


def test_what_is_scored_was_planned():
    known = {(planned.policy.name, planned.attempts_by.name) for planned in plan.SCORES}
    assert {(setting.policy, setting.attempt_set) for setting in SETTINGS} <= known


@pytest.mark.parametrize("notebook", [FIRST, SECOND], ids=lambda path: path.stem)
def test_the_parameters_choose_source_resamples_and_seed(notebook):
    assert {"source", "n_boot", "seed", "figures_dir"} <= set(known_parameters(notebook))


def saved_claims(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return [claim for output in outputs for claim in output.get("data", {}).get(MIME, [])]


PRIMARY = scores.primary(scores.main_settings(SETTINGS))


def test_the_saved_verdicts_are_about_every_primary_setting():
    saved = [claim for claim in saved_claims(FIRST) if claim["claim"].startswith("best of")]
    about = [claim["claim"].partition(": ")[2] for claim in saved]
    assert list(dict.fromkeys(about)) == [setting.label for setting in PRIMARY]


def test_the_saved_verdicts_on_selection_follow_from_the_scores():
    rows = claims.advantage_claims(PRIMARY[:1]).frame().to_dict("records")
    saved = saved_claims(FIRST)[: len(rows)]
    assert all(row.items() <= kept.items() for row, kept in zip(rows, saved, strict=True))


def test_the_saved_verdicts_on_the_decisive_step_follow_from_the_scores():
    (setting,) = (setting for setting in PRIMARY if setting.label == "sokoban: base")
    table = attribution.compare_attempts(setting, decisive_steps(setting))
    rows = claims.attribution_claims({setting.label: table}).frame().to_dict("records")
    assert any(rows[0].items() <= kept.items() for kept in saved_claims(SECOND))


def test_who_and_when_is_not_claimed_without_a_pair():
    found = [claim for claim in saved_claims(SECOND) if "Who & When" in claim["claim"]]
    assert {claim["verdict"] for claim in found} == {"not tested here"}
