"""The command line, `python -m lib COMMAND`: one module a command.

A command is its arguments, checks of them, and a call of the function that does the same from
Python: `reporting.run_batch`, `reporting.compare`, `rollouts.collect`, `training.train`,
`advantage.score`. Heavy rooms are imported only by the command that runs. `errors` puts options in
the place of the parameters that the library's errors name.

    >>> import argparse
    >>> from lib.cli import report
    >>> parser = argparse.ArgumentParser()
    >>> report.add_arguments(parser)
    >>> arguments = parser.parse_args(["base.jsonl", "post.jsonl", "--max-k", "8"])
    >>> arguments.max_k, str(arguments.out)
    (8, 'report')
"""
