"""The batch: parameters that arrive, failures, kernels and workers that die, and its page."""

import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import numpy as np
import pytest

from lib import ROOT
from lib.__main__ import main
from lib.claims import MIME
from lib.reporting.batch_report import write_pages
from lib.reporting.notebook_batch import Failure, run_batch
from lib.reporting.notebook_claims import claims_markdown
from tests.small_notebooks import CLAIM, write_notebook

CASES = {
    "good": [
        ("markdown", "# A **good** one"),
        ("parameters", "count = ratio = flag = where = pair = levels = None"),
        "from pathlib import PurePath\n"
        "kinds = [type(v) for v in (count, ratio, flag, pair)]\n"
        "assert kinds == [int, float, bool, tuple], kinds\n"
        "assert isinstance(where, PurePath) and levels == {8: 0.5}",
        ("markdown", "## Curve of `count`"),
        "import matplotlib.pyplot as plt\nplt.plot([0, count])\nplt.show()",
        "import os\nprint(os.path.basename(os.getcwd()))",
        "print(os.environ['PYTHONPATH'])",
        "from IPython.display import display\n"
        f"display({{{MIME!r}: [{CLAIM!r}], 'text/plain': 'claims'}}, raw=True)",
    ],
    "bad": ["first = 1", "# the division\nfirst / 0", "print('not reached')"],
    "dies_once": [
        "import os, pathlib\n"
        "marker = pathlib.Path('died')\n"
        "if not marker.exists():\n"
        "    marker.touch()\n"
        "    os._exit(1)",
        "print('up')",
    ],
    "dies_later": ["import os", "os._exit(1)"],
    "kills_once": [
        "import os, pathlib, signal\n"
        "marker = pathlib.Path('killed')\n"
        "if not marker.exists():\n"
        "    marker.touch()\n"
        "    os.kill(os.getppid(), signal.SIGKILL)"
    ],
    "kills": ["import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"],
}

PARAMETERS = {
    "count": np.int64(3),
    "ratio": np.float32(0.5),
    "flag": np.bool_(True),
    "where": Path("some/where"),
    "pair": (1, "a"),
    "levels": {8: 0.5},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("{braces} and spaces")
    for name, cells in CASES.items():
        write_notebook(folder / f"{name}.ipynb", *cells)
    batch = [{"notebook": folder / f"{name}.ipynb"} for name in CASES]
    batch[0]["parameters"] = PARAMETERS
    run = run_batch(batch, out=folder / "build", jobs=2)
    return {result.entry.name: result for result in run}


def outputs(result):
    node = nbformat.read(result.notebook, as_version=4)
    return [output for cell in node.cells for output in cell.get("outputs", [])]


@pytest.mark.slow
def test_parameters_arrive_with_their_types(results):
    assert results["good"].failure is None


@pytest.mark.slow
def test_a_kernel_works_in_its_notebooks_folder(results):
    texts = [output.text for output in outputs(results["good"]) if "text" in output]
    assert texts[0] == results["good"].entry.notebook.parent.name + "\n"


@pytest.mark.slow
def test_a_kernel_imports_the_library_of_this_checkout(results):
    texts = [output.text for output in outputs(results["good"]) if "text" in output]
    assert texts[1].split(os.pathsep)[0].strip() == str(ROOT)


@pytest.mark.slow
def test_a_killed_batch_leaves_no_process_behind(tmp_path):
    write_notebook(
        tmp_path / "long.ipynb",
        "import os, pathlib, time\n"
        "pathlib.Path('pid').write_text(str(os.getpid()))\n"
        "time.sleep(99)",
    )
    (tmp_path / "batch.yml").write_text("- notebook: long.ipynb")
    command = [sys.executable, "-m", "lib", "batch", str(tmp_path / "batch.yml")]
    batch = subprocess.Popen([*command, "-o", str(tmp_path / "build")], cwd=ROOT)
    wait_until(lambda: (tmp_path / "pid").is_file() and (tmp_path / "pid").read_text(), 60)
    batch.kill()
    batch.wait()
    kernel = Path("/proc", (tmp_path / "pid").read_text())
    wait_until(lambda: not kernel.exists() or "Z (zombie)" in (kernel / "status").read_text(), 30)


def wait_until(happens, seconds):
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.slow
def test_a_failing_notebook_tells_its_cell_and_the_others_run(results):
    assert results["bad"].failure == Failure(
        2, "# the division", "ZeroDivisionError", "division by zero"
    )
    assert list(results) == list(CASES)


@pytest.mark.slow
def test_a_kernel_that_dies_at_start_is_started_again(results):
    assert (results["dies_once"].starts, results["dies_once"].failure) == (2, None)


@pytest.mark.slow
def test_a_kernel_that_dies_later_is_not_started_again(results):
    result = results["dies_later"]
    assert (result.starts, result.failure.cell, result.failure.error) == (1, 2, "DeadKernelError")


@pytest.mark.slow
def test_a_killed_worker_takes_no_other_notebook_along(results):
    once, ever = results["kills_once"], results["kills"]
    assert (once.starts, once.failure) == (2, None)
    assert (ever.starts, ever.failure.error) == (3, "BrokenProcessPool")
    assert "was killed 3 times" in ever.failure.message
    assert sorted(name for name in CASES if results[name].failure) == ["bad", "dies_later", "kills"]


@pytest.mark.slow
def test_the_page_shows_figures_claims_failures_and_links(results, tmp_path):
    page = write_pages(list(results.values()), tmp_path).read_text()
    assert page.count("data:image/png;base64,") == 2  # whole at the top, small in its card
    assert page.count('alt="Curve of count"') == 2
    assert 'class="verdict holds">holds<' in page
    assert "a | in &lt;text&gt;" in page
    assert "<code># the division</code>" in page
    assert "ZeroDivisionError: division by zero" in page
    assert 'href="bad.ipynb"' in page
    claim = CLAIM | {"notebook": "good.ipynb"}
    assert (tmp_path / "claims.md").read_text() == claims_markdown([claim])


@pytest.mark.slow
def test_every_notebook_that_ends_is_rendered_as_a_page(results):
    pages = [name for name, r in results.items() if r.notebook.with_suffix(".html").is_file()]
    assert pages == [name for name in CASES if name != "kills"]


@pytest.mark.slow
def test_the_command_says_which_cell_failed_and_exits_with_1(tmp_path, capsys):
    write_notebook(tmp_path / "bad.ipynb", "1 / 0")
    (tmp_path / "batch.yml").write_text("- notebook: bad.ipynb")
    assert main(["batch", str(tmp_path / "batch.yml"), "-o", str(tmp_path / "build")]) == 1
    said = capsys.readouterr()
    assert "bad: FAILED: cell In [1] `1 / 0`: ZeroDivisionError: division by zero" in said.err
    assert said.out == f"Report: {tmp_path / 'build' / 'report.html'}\n"


@pytest.mark.parametrize("error", [OSError, ValueError, OverflowError, MemoryError, RecursionError])
def test_bad_input_is_one_line_and_exit_code_2(capsys, monkeypatch, error):
    def command(*_, **__):
        raise error("what was wrong")

    monkeypatch.setattr("lib.reporting.run_batch", command)
    assert main(["batch"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "what was wrong" in said
    assert said.count("\n") == 1
