"""Rollouts as tau2 simulations."""

import pytest

from lib import ROOT, outcomes
from lib.outcomes import OutcomesError, importers

EXAMPLES = ROOT / "data" / "examples"


def load(name, **options):
    return importers.load(EXAMPLES / name, **options)


def counted(imported):
    table = outcomes.counts(imported.outcomes)
    return dict(zip(table["task"], zip(table["n"], table["c"], strict=True), strict=True))


@pytest.mark.parametrize("log", ["inspect/base.eval", "tau2/base.json", "verifiers/post"])
def test_rollouts_go_to_tau2_and_come_back(log, tmp_path):
    imported = load(log, trajectories=True)
    path = tmp_path / "results.json"
    importers.to_tau2(imported.rollouts, path)
    back = importers.load(path, trajectories=True)
    assert counted(back) == counted(imported)
    calls = [[m.tool_calls for m in one.messages] for one in imported.rollouts]
    assert [[m.tool_calls for m in one.messages] for one in back.rollouts] == calls
    assert back.report.missing == imported.report.missing
    names = [[m.name for m in one.messages] for one in imported.rollouts]
    assert [[m.name for m in one.messages] for one in back.rollouts] == names


def test_no_rollouts_to_export_say_how_to_get_some():
    with pytest.raises(OutcomesError, match="trajectories=True"):
        importers.to_tau2(load("tau2/base.json").rollouts)
