"""Parameters that errors of the library name become the options of the command."""

import subprocess
import sys

import pytest

from lib import ROOT
from lib.__main__ import COMMANDS, make_parser
from lib.cli.errors import in_options, options_of

OPTIONS = {"max_k": "--max-k", "count": "--tasks", "out": "--out", "tau": "--tau"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("`count` is 9: expected at most 8", "--tasks is 9: expected at most 8"),
        ("a max_k of 9, from max_k.csv", "a --max-k of 9, from max_k.csv"),
        ("PTGS: tau is 0: expected 1 or more", "--tau is 0: expected 1 or more"),
        ("Settings.tau is 0: expected 1", "--tau is 0: expected 1"),
        ("Settings.max_k is 0, or max_k=0", "--max-k is 0, or --max-k=0"),
        ("no room: tau is 0 there", "no room: tau is 0 there"),
        ("find out what it is", "find out what it is"),
        ("/data/max_k/x holds 'max_k'", "/data/max_k/x holds 'max_k'"),
        ("old-max_k and max_k2", "old-max_k and max_k2"),
    ],
)
def test_a_parameter_is_replaced_and_a_word_is_not(message, expected):
    assert in_options(message, OPTIONS) == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_every_alias_leads_to_an_option_of_the_command(command):
    name = command.__name__.rpartition(".")[2]
    given = {"report": ["a", "b"], "collect": ["a", "b", "-o", "c"], "train": ["a", "b", "-o", "c"]}
    given |= {"score": ["a", "--policy", "b", "-o", "c"]}
    parser = make_parser().parse_args([name, *given.get(name, [])]).parser_of_command
    known = options_of(parser)
    assert set(getattr(command, "ALIASES", {}).values()) <= set(known.values())


def test_a_positional_argument_goes_by_its_name():
    arguments = make_parser().parse_args(["collect", "sokoban", "m", "-o", "c"])
    options = options_of(arguments.parser_of_command)
    assert (options["environment"], options["n"]) == ("ENVIRONMENT", "--attempts")


def test_help_loads_nothing_but_the_commands():
    code = "import sys, lib.__main__; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    loaded = {name for name in done.stdout.split() if name.partition(".")[0] in ("lib", "numpy")}
    rooms = {name for name in loaded if not name.startswith("lib.cli")}
    assert rooms <= {"lib", "lib.__main__"}
