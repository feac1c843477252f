"""The one-page report on two arms."""

import json

import pandas as pd
import pytest

from lib import ROOT, outcomes, reporting
from lib.metrics.formatting import with_interval

EXAMPLES = ROOT / "data" / "examples"


def compare(*logs, **options):
    """The page in Markdown."""
    return reporting.compare(*logs, **options).with_suffix(".md")


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    return compare(EXAMPLES / "base.jsonl", EXAMPLES / "post.jsonl", out=out)


def test_the_page_shows_its_figure_beside_it(page):
    pictures = list(page.parent.glob("*.svg"))
    assert len(pictures) == 3
    assert all(f"]({picture.name})" in page.read_text() for picture in pictures)


def test_nothing_of_a_pages_picture_is_cut_off(monkeypatch, tmp_path):
    boxes = []

    def look(figure, file, **_):
        boxes.append((figure.get_tightbbox(), figure.bbox_inches))

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", look)
    files = (
        counted(tmp_path / "b.jsonl", [900] * 40, 1024),
        counted(tmp_path / "p.jsonl", [1024] * 40, 1024),
    )
    compare(*files, out=tmp_path / "out")
    assert len(boxes) == 3
    for drawn, page in boxes:
        assert page.x0 <= drawn.x0 < drawn.x1 <= page.x1
        assert page.y0 <= drawn.y0 < drawn.y1 <= page.y1


def test_the_page_says_what_was_dropped_missing_and_unequal(page):
    text = page.read_text()
    assert "left out, not attempted in post: task-23" in text
    assert "neither success nor failure: 4 of 368, so 98.9% were scored" in text
    assert "post: tasks have 14 to 16 scored attempts, the fewest at 'task-09'" in text


def test_the_page_holds_the_numbers_of_metrics(page):
    table = [
        outcomes.read(EXAMPLES / f"{arm}.jsonl", arm=arm, pair="base to post")
        for arm in ("base", "post")
    ]
    tax = outcomes.comparisons(pd.concat(table, ignore_index=True))[0].tax(14)
    assert with_interval(tax.tax_S.at(14), 4) in page.read_text()
    assert with_interval(tax.coverage_base.at(8)) in page.read_text()


def test_repeated_attempts_are_warned_of_on_the_page(tmp_path):
    rows = [{"task": "a", "attempt": i, "passed": i == 1} for i in (0, 1, 1)]
    path = write(tmp_path / "a.jsonl", *rows)
    text = compare(path, path, out=tmp_path / "out").read_text()
    assert "1 row repeats the (task, attempt) of a later one; the last one counts" in text


def test_one_success_among_infrastructure_errors_shows_the_share_scored(tmp_path):
    lost = [{"task": "a", "attempt": i, "passed": None, "reason": "reset"} for i in range(1, 8)]
    path = write(tmp_path / "a.jsonl", {"task": "a", "attempt": 0, "passed": True}, *lost)
    text = compare(path, path, out=tmp_path / "out").read_text()
    assert "7 of 8, so 12.5% were scored" in text


def test_a_perfect_arm_is_reported_with_its_reason(tmp_path):
    base = write(
        tmp_path / "b.jsonl", *({"task": t, "n": 4, "c": c} for t, c in (("a", 1), ("b", 2)))
    )
    post = write(tmp_path / "p.jsonl", *({"task": t, "n": 4, "c": 4} for t in "ab"))
    text = compare(base, post, out=tmp_path / "out").read_text()
    assert "Tax_S(4) = -, Tax_A(4) =" in text
    assert "pass@1 of the post-trained arm is 1" in text


def test_one_attempt_a_task_is_answered_with_how_to_get_more(tmp_path):
    rows = [{"task": f"t{i}", "n": 1, "c": i % 2} for i in range(12)]
    files = [write(tmp_path / name, *rows) for name in ("b.jsonl", "p.jsonl")]
    text = compare(*files, out=tmp_path / "out").read_text()
    assert "With one attempt a task there is no coverage gap, crossover or tax" in text
    assert not any(
        word in text.partition("## How")[0] for word in ("Tax_A(1)", "overtake", "0.00 ")
    )
    assert "Repeat every task in both arms, 8 times or more" in text


def counted(path, successes, n=8):
    return write(path, *({"task": f"t{i}", "n": n, "c": c} for i, c in enumerate(successes)))


@pytest.mark.parametrize(
    ("base", "post", "meaning"),
    [
        ([1] * 20 + [0] * 20, [8] * 25 + [4] * 5 + [0] * 10, "it covers at least as much at every"),
        ([4] * 30 + [0] * 10, [8] * 8 + [7] * 5 + [0] * 27, "pass@1 did not rise, so nothing was"),
        ([8] * 20 + [0] * 20, [4] * 20 + [0] * 20, "it covers no more at any k"),
        ([1] * 35 + [0] * 5, [8] * 20 + [0] * 20, "post-training paid for pass@1 with coverage"),
    ],
)
def test_the_headline_says_what_happened_besides_the_tax(tmp_path, base, post, meaning):
    files = counted(tmp_path / "b.jsonl", base), counted(tmp_path / "p.jsonl", post)
    text = compare(*files, out=tmp_path / "out").read_text()
    meanings = [
        "covers at least",
        "did not rise",
        "covers no more",
        "paid for pass@1 with coverage.",
    ]
    assert meaning in text
    headline = text.partition("## How")[0]
    assert sum(clause in headline for clause in meanings) == 1


def test_the_headline_gives_the_change_of_pass_at_1_and_the_gap_with_intervals(tmp_path):
    files = [
        counted(tmp_path / "b.jsonl", [1] * 35 + [0] * 5),
        counted(tmp_path / "p.jsonl", [8] * 20 + [0] * 20),
    ]
    text = compare(*files, out=tmp_path / "out").read_text()
    assert "pass@1 rose: base minus post is -0.391 [" in text
    assert "Coverage pass@8 fell: base minus post is 0.375 [" in text


def test_a_base_that_is_ahead_from_the_start_is_said_to_overtake_nothing(tmp_path):
    files = counted(tmp_path / "b.jsonl", [6] * 40), counted(tmp_path / "p.jsonl", [1, 0] * 20)
    text = compare(*files, out=tmp_path / "out").read_text().partition("## How")[0]
    assert "ahead from the first attempt on, k* = 1 [1, 1]: the post-trained arm is worse" in text
    assert "% of resamples" not in text


def test_brackets_are_explained_where_there_are_some(page, tmp_path):
    lists = (EXAMPLES / "lists" / f"{arm}.jsonl" for arm in ("base", "post"))
    few = compare(*lists, out=tmp_path)
    assert ["brackets are" in shown.read_text() for shown in (page, few)] == [True, False]


def test_a_warning_is_said_once(tmp_path):
    rows = [{"task": "a", "passed": i == 1} for i in range(3)]
    path = write(tmp_path / "a.jsonl", *rows)
    text = compare(path, path, out=tmp_path / "out").read_text()
    assert text.count("no column 'attempt'") == 1


def test_a_budget_beyond_the_attempts_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="k = 64 needs at least 64 rollouts of every task"):
        compare(EXAMPLES / "base.jsonl", EXAMPLES / "post.jsonl", max_k=64, out=tmp_path)


def test_arms_without_a_common_task_are_an_error(tmp_path):
    base = write(tmp_path / "b.jsonl", {"task": "a", "n": 4, "c": 1})
    post = write(tmp_path / "p.jsonl", {"task": "z", "n": 4, "c": 1})
    with pytest.raises(outcomes.OutcomesError, match="Name the tasks alike in both files"):
        compare(base, post, out=tmp_path / "out")


def test_names_are_text_on_the_page_and_share_no_picture(tmp_path):
    pairs = ["x/y", "x y", "<script>**x**$x^$"]
    for arm, c in (("base", 1), ("post", 3)):
        write(
            tmp_path / f"{arm}.jsonl",
            *({"pair": p, "task": f"t{i}", "n": 4, "c": c} for p in pairs for i in range(12)),
        )
    page = compare(tmp_path / "base.jsonl", tmp_path / "post.jsonl", out=tmp_path / "out")
    assert len(list(page.parent.glob("0[1-3]-*.svg"))) == 9
    for text in (page.read_text(), page.with_suffix(".html").read_text()):
        assert "<script>" not in text


@pytest.mark.parametrize("K", [0, -1])
def test_a_budget_below_one_is_an_error_and_leaves_nothing(tmp_path, K):
    with pytest.raises(ValueError, match="expected a whole number of at least 1"):
        compare(EXAMPLES / "base.jsonl", EXAMPLES / "post.jsonl", max_k=K, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_file_may_hold_both_arms(tmp_path):
    rows = [{"task": "a", "n": 4, "c": c, "arm": arm} for arm, c in (("base", 1), ("rl", 3))]
    path = write(tmp_path / "both.jsonl", *rows)
    assert compare(path, path, out=tmp_path / "out").exists()
