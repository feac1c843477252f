"""The sentence that a page opens with, in every case, and the titles of its pictures."""

import numpy as np
import pandas as pd
import pytest

from lib import claims, metrics, outcomes
from lib.reporting import answer, comparison_answer


def study(base, post, n=8, max_k=None, benchmark="default"):
    names = [f"t{i}" for i in range(len(base))]
    cells = [metrics.Counts(np.array(c), np.full(len(c), n), names=names) for c in (base, post)]
    dropped = pd.DataFrame(columns=["task", "arm", "why"])
    comparison = outcomes.Comparison(
        benchmark, "p", *cells, dropped, missing={"base": 0, "post": 0}
    )
    return claims.Study(comparison, comparison.tax(max_k or n, n_boot=200))


FELL, UNSURE = [1] * 35 + [0] * 5, [1, 0] * 20
CASES = {
    "fell, gained": (FELL, [8] * 20 + [0] * 20),
    "fell, gain by chance": ([3] * 40, [8] * 17 + [0] * 23),
    "fell, behind": ([6] * 40, [1, 0] * 20),
    "rose": ([1] * 20 + [0] * 20, [4] * 38 + [0] * 2),
    "same": ([4] * 40, [4] * 40),
    "undecided": ([1, 0] * 20, [1, 0, 0, 1] * 9 + [1, 1, 0, 1]),
    "few tasks": ([4, 3, 4], [0, 0, 8]),
}
ENDS = {
    "fell, gained": "at one attempt the post-trained model is ahead, 50 % against 11 %.",
    "fell, gain by chance": "the gain at one attempt, 38 % to 42 %, is within chance.",
    "fell, behind": "at one attempt the base is ahead as well, 75 % against 6 %.",
    "rose": "at one attempt the post-trained model is ahead, 48 % against 6 %.",
    "same": "at one attempt both solve 50 %.",
    "undecided": "is within chance.",
    "few tasks": "at one attempt the base solves 46 %, the post-trained model 33 %.",
}
HEADS = {
    "rose": "Coverage rose: at 8 attempts the base solves 50 % of the tasks, the post-trained",
    "same": "Coverage is the same: at 8 attempts both solve 100 % of the tasks;",
    "undecided": "Whether coverage changed is undecided: at 8 attempts the base solves 50 %",
    "few tasks": "Coverage fell, without an interval to say how surely: at 8 attempts",
}


@pytest.mark.parametrize("case", CASES)
def test_the_answer_says_what_happened_at_many_attempts_and_at_one(case):
    sentence = answer([study(*CASES[case])])
    assert sentence.startswith(HEADS.get(case, "Coverage fell: at 8 attempts the base solves"))
    assert sentence.endswith(ENDS[case])


def test_one_attempt_a_task_says_that_coverage_cannot_be_seen():
    sentence = answer([study([1] * 30 + [0] * 10, [1] * 5 + [0] * 35, n=1)])
    assert sentence.startswith("Accuracy fell: at one attempt the base solves 75 %")
    assert sentence.endswith("coverage cannot be seen with one attempt a task.")


def test_a_budget_of_one_of_many_attempts_says_that_coverage_was_not_asked_for():
    assert answer([study(FELL, FELL, max_k=1)]).endswith("more attempts was not asked for.")


def test_several_comparisons_are_counted():
    several = [study(*CASES["fell, gained"]), study(*CASES["rose"], benchmark="b")]
    assert answer(several) == (
        "Coverage at 8 attempts fell on 1 of 2 benchmarks and rose on 1; accuracy at one attempt "
        "rose on all 2 benchmarks."
    )


def test_titles_say_the_finding():
    fell, never = study(*CASES["fell, gained"]), study(*CASES["rose"])
    assert comparison_answer.coverage_title(fell) == "Coverage fell: 88 % to 50 % at 8 attempts"
    assert comparison_answer.crossover_title(fell.tax).startswith("The base is ahead from ")
    assert comparison_answer.crossover_title(never.tax).endswith("not overtake within 8 attempts")
    assert comparison_answer.tasks_title(fell.comparison) == (
        "Never solved: 5 (base), 20 (post-trained) of 40 tasks"
    )
