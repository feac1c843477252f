"""Small notebooks, written for a test."""

import nbformat

from lib.claims import MIME

CLAIM = {
    "claim": "Coverage crosses over",
    "value": "11 of 12",
    "interval": "9 to 12",
    "published": "11 of 12",
    "verdict": "holds",
    "why": "a | in <text>",
}


def write_notebook(path, *cells):
    """Write a notebook; a cell is code, or a pair of "markdown" or a tag and its text."""
    node = nbformat.v4.new_notebook()
    for cell in cells:
        kind, source = cell if isinstance(cell, tuple) else ("code", cell)
        if kind == "markdown":
            node.cells.append(nbformat.v4.new_markdown_cell(source))
        else:
            tags = {"tags": [kind]} if kind != "code" else {}
            node.cells.append(nbformat.v4.new_code_cell(source, metadata=tags))
    nbformat.write(node, path)
    return path


def notebook_with_claims(path, claims):
    output = nbformat.v4.new_output("display_data", {MIME: claims})
    cell = nbformat.v4.new_code_cell("claims", outputs=[output])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    return path
