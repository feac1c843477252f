"""Tasks lost and gained, and what to do next."""

import json
import math

import numpy as np
import pytest

from lib import ROOT, metrics, outcomes, reporting
from lib.reporting import comparison_tasks, lost_by_chance, moved_tasks, next_steps
from tests.reporting.test_comparison_answer import CASES, study

EXAMPLES = ROOT / "data" / "examples"


def test_lost_tasks_are_those_the_post_trained_arm_never_solves_the_surest_first():
    moved = moved_tasks(study([1, 7, 0, 4], [0, 0, 5, 4]).comparison)
    assert moved["lost"][["task", "base", "post"]].to_numpy().tolist() == [
        ["t1", "7/8", "0/8"],
        ["t0", "1/8", "0/8"],
    ]
    assert moved["gained"]["task"].tolist() == ["t2"]
    assert moved["lost"]["chance"].tolist() == pytest.approx([8 / 11440, 0.5])


def test_a_task_solved_once_by_either_arm_is_lost_by_chance_half_of_the_time():
    assert lost_by_chance(study([1], [0]).comparison) == pytest.approx(0.5)


def test_histograms_name_no_tasks():
    cell = metrics.Counts(np.array([0, 3]), np.array([8, 8]), np.array([5, 6]))
    comparison = outcomes.Comparison("b", "p", cell, cell, None, {"base": 0, "post": 0})
    assert [len(rows) for rows in moved_tasks(comparison).values()] == [0, 0]


@pytest.mark.parametrize("case", CASES)
def test_there_are_at_most_three_next_steps(case):
    assert len(next_steps([study(*CASES[case])], unequal=True)) <= 3


def test_what_is_undecided_says_how_much_would_settle_it():
    steps = next_steps([study(*CASES["fell, gain by chance"])])
    assert steps[0].startswith(
        "No single task is lost beyond chance. Repeat those that may be, t17"
    )
    assert steps[1].startswith("To settle the change at one attempt: ")


def test_tasks_lost_by_chance_are_to_be_repeated():
    steps = next_steps([study([1] + [4] * 20, [0] + [4] * 20)])
    assert steps[0].startswith("No single task is lost beyond chance. Repeat those that may be, t0")


def test_the_html_page_holds_its_pictures_and_answers_first(tmp_path):
    page = reporting.compare(EXAMPLES / "base.jsonl", EXAMPLES / "post.jsonl", out=tmp_path)
    text = page.read_text()
    assert page.name == "report.html"
    assert "<h1>Coverage fell: at 14 attempts the base solves 93 % of the tasks" in text
    assert text.count('src="data:image/svg+xml;base64,') == 3
    assert "http" not in text
    assert "<td>task-14</td>" in text


def test_many_benchmarks_are_folded_below_a_table(tmp_path):
    for arm, c in (("base", 4), ("post", 2)):
        rows = [
            {"benchmark": f"b{b}", "task": f"t{t}", "n": 4, "c": c * (t > b)}
            for b in range(8)
            for t in range(12)
        ]
        (tmp_path / f"{arm}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    files = (tmp_path / f"{arm}.jsonl" for arm in ("base", "post"))
    text = reporting.compare(*files, out=tmp_path / "out").read_text()
    assert text.count('<details class="comparison"') == 8
    assert text.count('src="data:image/svg+xml;base64,') == 1 + 3 * 3


@pytest.mark.parametrize(("successes", "attempts"), [(3, 6), (2, 8), (5, 16)])
def test_the_proposed_attempts_pass_the_pages_own_test(successes, attempts):
    needed = comparison_tasks._attempts_to_be_clear(successes, attempts)

    def chance(others):
        return math.comb(attempts, successes) / math.comb(attempts + others, successes)

    assert chance(needed) < comparison_tasks.CLEAR <= chance(needed - 1)


def test_a_base_that_succeeds_once_is_repeated_too():
    assert comparison_tasks._attempts_to_be_clear(1, 16) > comparison_tasks.MOST_REPEATS
