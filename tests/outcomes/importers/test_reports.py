"""The report on a log, and the page made of it."""

import json
import shutil

import pytest

from lib import ROOT
from lib.outcomes import OutcomesError, importers
from lib.reporting import comparison_report

EXAMPLES = ROOT / "data" / "examples"


def load(name, **options):
    return importers.load(EXAMPLES / name, **options)


@pytest.mark.parametrize("settings", ["greedy", ["temperature"], {"temperature": [1]}])
def test_settings_of_another_type_are_refused(tmp_path, settings):
    log = json.loads((EXAMPLES / "verifiers/base/metadata.json").read_text())
    for name in ("results.jsonl", "metadata.json"):
        (tmp_path / name).write_text((EXAMPLES / "verifiers/base" / name).read_text())
    (tmp_path / "metadata.json").write_text(json.dumps(log | {"sampling_args": settings}))
    with pytest.raises(OutcomesError, match=r"metadata\.json.*(setting|sampling_args)"):
        importers.load(tmp_path)


def test_a_setting_in_words_is_the_number_that_it_spells():
    report = importers.ImportReport("a tool")
    report.set({"temperature": "0.7"})
    assert report.settings == {"temperature": [0.7]}


@pytest.mark.parametrize(
    ("base", "post"),
    [
        ("lm_eval/base", "lm_eval/post"),
        ("inspect/base.eval", "inspect/post.eval"),
        ("bfcl/base", "bfcl/post"),
    ],
)
def test_the_report_reads_any_log(base, post, tmp_path):
    text = (
        comparison_report.compare(EXAMPLES / base, EXAMPLES / post, out=tmp_path)
        .with_suffix(".md")
        .read_text()
    )
    assert "**What was read: base**" in text
    assert "Tax_S(" in text


@pytest.mark.parametrize(
    ("log", "model"),
    [
        ("inspect/base.eval", "mockllm/model"),
        ("lm_eval/base", "base"),
        ("tau2/post.json", "post"),
        ("bfcl/post", "post"),
        ("verifiers/base", "base"),
        ("base.jsonl", ""),
    ],
)
def test_a_report_names_the_model_as_the_log_does(log, model):
    report = load(log).report
    assert report.model == model
    assert (f"model: {model}" in report.lines()) == bool(model)


def test_a_model_that_is_left_out_is_not_the_reports(tmp_path):
    for model in ("first", "second"):
        shutil.copytree(EXAMPLES / "lm_eval" / "base", tmp_path / model)
    assert importers.load(tmp_path, model="second").report.model == "second"


def test_unequal_settings_are_warned_of(tmp_path):
    logs = [EXAMPLES / "inspect" / f"{arm}.eval" for arm in ("base", "post")]
    text = comparison_report.compare(*logs, out=tmp_path).with_suffix(".md").read_text()
    assert "**Warning: unequal settings.**" in text
    assert "| temperature | 0.7    | 0.6    |" in text


def test_equal_settings_are_not_warned_of():
    base, post = (load(f"lm_eval/{arm}") for arm in ("base", "post"))
    assert importers.differing_settings(base, post).empty


def test_the_command_line_chooses_for_each_arm(tmp_path, capsys):
    from lib.__main__ import main

    logs = [str(EXAMPLES / "inspect" / name) for name in ("base.eval", "two_scorers.json")]
    assert main(["report", *logs, "-o", str(tmp_path)]) == 2
    assert "Choose one: `--choose scorer=match`" in capsys.readouterr().err
    chosen = ["--choose", "post.scorer=match"]
    assert main(["report", *logs, *chosen, "-o", str(tmp_path)]) == 0
