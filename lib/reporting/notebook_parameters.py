"""The parameters of a notebook: which it has, and a copy of it with other values.

By Jupyter's convention a cell tagged `parameters` assigns the defaults. The values of one run are
assigned in a cell of their own right after it, tagged `injected-parameters`.
"""

import ast
import math
from collections.abc import Mapping
from pathlib import Path, PurePath

import nbformat
import numpy as np


def known_parameters(notebook: str | Path) -> list[str]:
    """Names assigned in the notebook's cell tagged `parameters`, in their order.

    The cell is parsed as Python. A search by pattern, as papermill has it, misses an assignment
    whose value or comment has another equals sign in it. Raises ValueError for a notebook that
    cannot be read, and for a cell that is not Python.
    """
    cell = _tagged(read_notebook(notebook), "parameters")
    if cell is None:
        return []
    try:
        body = ast.parse(cell.source).body
    except SyntaxError as error:
        raise ValueError(
            f"{notebook}: the cell tagged `parameters` must hold plain assignments: {error}"
        ) from error
    targets = []
    for statement in body:
        if isinstance(statement, ast.Assign):
            targets += statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets.append(statement.target)
    return [target.id for target in targets if isinstance(target, ast.Name)]


def literal(value: object) -> str:
    """Python source that evaluates to `value` with its type kept.

    Values may be None, str, bool, int, float, pathlib paths (written as `Path(...)`), and lists,
    tuples and dictionaries of these. NumPy scalars become Python numbers. Raises TypeError for any
    other type, of which papermill would pass the text to the notebook instead; and for a list or
    dictionary that contains itself, which an alias in YAML can make.

    >>> literal([1, float("inf")])
    "[1, float('inf')]"
    """
    try:
        return _literal(value)
    except RecursionError:
        raise TypeError(
            "a value that contains itself or is nested too deep cannot be a notebook's parameter"
        ) from None


def _literal(value):
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PurePath):
        return f"Path({str(value)!r})"
    if type(value) is float and not math.isfinite(value):
        return f"float({str(value)!r})"
    if value is None or type(value) in (str, bool, int, float):
        return repr(value)
    if type(value) is list:
        return f"[{', '.join(map(_literal, value))}]"
    if type(value) is tuple:
        return f"({''.join(_literal(item) + ', ' for item in value).rstrip()})"
    if type(value) is dict:
        return (
            f"{{{', '.join(f'{_literal(key)}: {_literal(item)}' for key, item in value.items())}}}"
        )
    raise TypeError(
        f"a value of type {type(value).__name__} ({value!r}) cannot be a notebook's parameter; "
        "expected None, str, bool, int, float, a NumPy scalar, a path, or a list, tuple or dict of "
        "these"
    )


def parameterised(notebook: str | Path, parameters: Mapping[str, object]) -> nbformat.NotebookNode:
    """The notebook with `parameters` assigned in a cell of their own, right after the defaults."""
    node = read_notebook(notebook)
    node.cells = [cell for cell in node.cells if "injected-parameters" not in _tags(cell)]
    if parameters:
        lines = [f"{name} = {literal(value)}" for name, value in parameters.items()]
        if any("Path(" in line for line in lines):
            lines.insert(0, "from pathlib import Path\n")
        cell = nbformat.v4.new_code_cell(
            "\n".join(["# Parameters of this run", *lines]),
            metadata={"tags": ["injected-parameters"]},
        )
        node.cells.insert(node.cells.index(_tagged(node, "parameters")) + 1, cell)
    return node


def read_notebook(notebook: str | Path) -> nbformat.NotebookNode:
    """The notebook at this path. Raises ValueError where the file is not a notebook."""
    try:
        return nbformat.read(notebook, as_version=4)
    except (ValueError, nbformat.ValidationError, AttributeError, RecursionError) as error:
        raise ValueError(f"{notebook} is not a Jupyter notebook: {error}") from error


def _tags(cell):
    return cell.metadata.get("tags", [])


def _tagged(node, tag):
    return next((cell for cell in node.cells if tag in _tags(cell)), None)
