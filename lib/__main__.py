"""The command line: ``python -m lib COMMAND``; the commands are the modules of `lib.cli`."""

import argparse
import sys
from importlib import import_module

from lib.cli import batch, collect, readme, report, score, train
from lib.cli.arguments import HelpFormatter
from lib.cli.errors import in_options, options_of

COMMANDS = (batch, readme, report, collect, train, score)


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands; each sets `command`, its module, and `parser`, its own parser."""
    parser = argparse.ArgumentParser(prog="python -m lib", description="Sharpening Lab.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        added = commands.add_parser(
            command.__name__.rpartition(".")[2],
            help=command.SUMMARY,
            description=command.SUMMARY,
            formatter_class=HelpFormatter,
        )
        command.add_arguments(added)
        added.set_defaults(command=command, parser_of_command=added)
    return parser


def main(argv=None) -> int:
    """Run a command; return 0 if it did its work, 1 if a notebook failed, 2 on bad input."""
    arguments = make_parser().parse_args(argv)
    command = arguments.command
    options = options_of(arguments.parser_of_command, getattr(command, "ALIASES", {}))
    try:
        return command.run(arguments) or 0
    except (OverflowError, MemoryError, RecursionError) as error:  # an input far out of range
        _tell(f"too large to work with ({type(error).__name__}: {error})")
        return 2
    except (ValueError, OSError, ImportError, FloatingPointError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not _is_policy_error(error):
            raise
        _tell(in_options(_wording(error), options))
        return 2
    except KeyboardInterrupt:
        going_on = getattr(command, "INTERRUPTED", "")
        print("interrupted" + (going_on and f": {going_on}"), file=sys.stderr)
        return 130


def _tell(error: str) -> None:
    """Print an error; what it cites of a file or a server cannot steer the terminal."""
    visible = import_module("lib.outcomes.values").visible  # slow to import
    print(f"error: {visible(error)}", file=sys.stderr)


def _wording(error: Exception) -> str:
    """What an error says; one of the system names the file, without its number."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    return str(error)


def _is_policy_error(error: RuntimeError) -> bool:
    """Whether a policy says that it cannot go on; its class is slow to import."""
    return isinstance(error, import_module("lib.rollouts.policies.protocol").PolicyError)


if __name__ == "__main__":
    sys.exit(main())
