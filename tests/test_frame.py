"""What holds the project together: light imports, pins, and what is committed."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import lib
from lib.reporting import collect_claims, with_claims, with_findings

ROOT = Path(__file__).resolve().parents[1]

# --- the package ----------------------------------------------------------------------------------


def test_lib_is_this_checkouts():
    assert Path(lib.__file__) == ROOT / "lib" / "__init__.py"


@pytest.mark.parametrize("room", ["metrics", "__main__"])
def test_light_rooms_stay_light(room):
    heavy = {"torch", "transformers", "pandas", "matplotlib"}
    code = f"import sys, lib.{room}; print(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize("room", ["claims", "metrics", "outcomes", "reporting"])
def test_rooms_of_tables_load_few_modules_and_none_that_runs_models(room):
    code = f"import sys, lib.{room}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    modules = [name.split(".") for name in done.stdout.split()]
    ours = [name for name in modules if name[0] == "lib"]
    assert ["lib", room] in ours
    assert len(ours) <= 30
    assert not {name[1] for name in ours if name[1:]} & {"lab", "training", "generation"}
    assert ["torch"] not in modules


# --- the environment ------------------------------------------------------------------------------


def pins():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def applies(requirement, extra=""):
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def test_every_pin_is_exact_and_is_what_is_installed():
    for pin in filter(applies, pins()):
        installed = metadata.version(pin.name).partition("+")[0]  # torch 2.13.0+cpu is 2.13.0
        assert str(pin.specifier) == f"=={installed}", pin.name


def test_whatever_a_pinned_package_requires_is_pinned():
    pinned = {canonicalize_name(pin.name) for pin in pins()}
    unpinned = {
        f"{name} requires {required}"
        for name in (pin.name for pin in pins() if applies(pin) and pin.name != "torch")
        for required in map(Requirement, metadata.requires(name) or [])
        if applies(required) and canonicalize_name(required.name) not in pinned
    }
    assert not unpinned


def test_conda_installs_the_same_list():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *_, pip = environment["dependencies"]
    assert pip == {"pip": ["-r requirements.txt", "-e ."]}


# --- what is committed ----------------------------------------------------------------------------


def test_the_claims_page_shows_the_claims_of_the_notebooks():
    page = (ROOT / "notebooks" / "guides" / "claims.md").read_text(encoding="utf-8")
    claims, left_out = collect_claims(sorted((ROOT / "notebooks").glob("*.ipynb")))
    assert claims
    assert not left_out
    assert with_claims(page, claims) == page, "run `make readme`"


def test_the_readme_shows_the_findings_of_the_notebooks():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    claims, _ = collect_claims(sorted((ROOT / "notebooks").glob("*.ipynb")))
    assert with_findings(page, claims) == page, "run `make readme`"


def test_no_committed_file_tells_where_it_was_made():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    places = [f"{place}/".encode() for place in (ROOT, Path.home()) if place != Path("/")]
    telling = [
        name
        for name in listed.stdout.split("\0")
        if (ROOT / name).is_file() and any(p in (ROOT / name).read_bytes() for p in places)
    ]
    assert not telling
