"""Two arms side by side: pairing by name, comparisons, and what is dropped."""

import pandas as pd
import pytest

from lib import outcomes
from lib.outcomes import OutcomesError, OutcomesWarning

COUNTS = pd.DataFrame(
    {"benchmark": "b", "pair": "p", "arm": ["base", "post"], "task": "x", "n": 4, "c": [1, 3]}
)


HISTOGRAM = pd.DataFrame(
    {"benchmark": "b", "pair": "p", "arm": ["base", "post"], "tasks": 9, "n": 4, "c": [1, 3]}
)


def arm(name, **counts):
    rows = [{"task": task, "n": n, "c": c} for task, (c, n) in counts.items()]
    return outcomes.validate(pd.DataFrame(rows), arm=name)


def test_arms_are_paired_by_name_and_dropped_tasks_are_listed():
    base = arm("base", a=(1, 4), b=(2, 4), lost=(0, 0), alone=(1, 4))
    post = arm("post", b=(3, 4), a=(4, 4), lost=(2, 4))
    aligned = outcomes.align(base, post)
    assert aligned.base["task"].tolist() == aligned.post["task"].tolist() == ["a", "b"]
    assert aligned.post["c"].tolist() == [4, 3]
    assert aligned.dropped.to_numpy().tolist() == [
        ["lost", "base", "no scored attempt"],
        ["alone", "post", "not attempted"],
    ]


def test_no_task_in_common_is_an_error_showing_both_namings():
    with pytest.raises(OutcomesError, match=r"base has 'a' \.\.\., post has 'b'"):
        outcomes.align(arm("base", a=(1, 4)), arm("post", b=(1, 4)))


def test_histogram_rows_are_never_paired():
    table = outcomes.validate(HISTOGRAM)
    with pytest.raises(OutcomesError, match="its tasks have no names"):
        outcomes.align(table[table["arm"] == "base"], table[table["arm"] == "post"])
    comparison = outcomes.comparisons(table)[0]
    assert comparison.base.tasks is not None
    assert not comparison.tax(4, n_boot=0).paired


def test_align_takes_one_cell_an_arm():
    with pytest.raises(OutcomesError, match="expected rows of one benchmark, pair and arm; got 2"):
        outcomes.align(COUNTS, COUNTS.head(1))


def test_comparisons_need_both_arms():
    with pytest.raises(
        OutcomesError, match=r"has both arms 'base' and 'post'.*default / default / base"
    ):
        outcomes.comparisons(arm("base", a=(1, 4)))


def test_intervals_do_not_change_with_what_else_is_in_the_table():
    two = pd.concat([COUNTS.assign(task=t, c=[i % 3, i % 4]) for i, t in enumerate("abcdefghijkl")])
    both = pd.concat([two.assign(benchmark="other"), two])
    alone = outcomes.comparisons(two)[0].tax(4).gap
    assert [list(part) for part in alone] == [
        list(part) for part in outcomes.comparisons(both)[1].tax(4).gap
    ]


def test_a_cell_without_its_other_arm_is_warned_of():
    table = pd.concat([COUNTS, COUNTS.head(1).assign(benchmark="alone")])
    with pytest.warns(OutcomesWarning, match=r"not compared.*p on alone \(base\)"):
        assert len(outcomes.comparisons(table)) == 1


def test_missing_attempts_are_counted_at_the_tasks_compared():
    rows = [("base", "a", 4, 1, 2), ("base", "lost", 4, 1, 9), ("post", "a", 4, 1, 0)]
    table = pd.DataFrame(rows, columns=["arm", "task", "n", "c", "missing"])
    comparison = outcomes.comparisons(outcomes.validate(table))[0]
    assert comparison.missing == {"base": 2, "post": 0}


def test_missing_outcomes_cannot_be_drawn():
    """Two of four attempts have a score: a budget of three is an error, not a rate."""
    rows = {"task": "a", "attempt": range(4), "passed": [None, None, False, False]}
    both = [outcomes.validate(pd.DataFrame(rows), arm=arm) for arm in ("base", "post")]
    with pytest.raises(OutcomesError, match=r"k = 3 needs at least 3 rollouts.*'a' with n = 2"):
        outcomes.comparisons(pd.concat(both))[0].tax(3)


def test_the_largest_budget_is_the_shortest_task():
    table = pd.concat([arm("base", a=(1, 4), b=(2, 9)), arm("post", a=(1, 8), b=(2, 7))])
    assert outcomes.comparisons(table)[0].max_k == 4


def test_benchmarks_of_two_names_say_how_to_name_them(tmp_path):
    cells = [
        outcomes.validate(COUNTS[COUNTS["arm"] == one].assign(benchmark=one))
        for one in ("base", "post")
    ]
    with pytest.raises(OutcomesError, match=r"`benchmark=.NAME"):
        outcomes.comparisons(pd.concat(cells))


def test_tasks_without_a_score_in_both_arms_are_not_taken_for_other_names():
    base, post = arm("base", a=(0, 0), b=(1, 2)), arm("post", a=(1, 2), b=(0, 0))
    with pytest.raises(
        OutcomesError, match=r"no task has a scored attempt .* 1 in base, 1 in post"
    ):
        outcomes.align(base, post)


@pytest.mark.parametrize("other", ["A-1", "1.0", "ﬁle"])
def test_names_that_differ_in_spelling_alone_are_warned_of(other):
    name = {"A-1": "a-1", "1.0": "1", "ﬁle": "file"}[other]
    table = pd.DataFrame(
        [(arm, task, 2, 1) for arm, of in (("base", name), ("post", other)) for task in ("x", of)],
        columns=["arm", "task", "n", "c"],
    )
    with pytest.warns(OutcomesWarning, match=f"1 task with several spellings.*{name}"):
        outcomes.comparisons(table)
