"""Pages through jinja2: HTML and Markdown, in which every text that is put in is escaped.

Templates lie beside this file. In one that ends in .html, values are escaped as HTML; in one that
ends in .md, as Markdown. What is markup already is passed as `markupsafe.Markup`.
"""

import base64
import html
import re
from pathlib import Path

import jinja2
from markupsafe import Markup

from lib.outcomes.values import visible

_MARKS = re.compile(r"[\\|`\[$&<>]|[*~](?=\S)|(?<![^\W_])_|_(?![^\W_])")
"""Characters that Markdown, as GitHub reads it, would take for markup where they stand.

A star before a space and an underscore within a word open nothing: `k* = 3` and `Tax_S` stay.
"""


def escape_markdown(text: object) -> Markup:
    r"""A text, on one line, as Markdown that shows just it; `Markup` stays as it is.

    >>> print(escape_markdown("a | b_c"), escape_markdown("*x* < 1"))
    a \| b_c \*x* &lt; 1
    """
    if isinstance(text, Markup):
        return text

    def escaped(mark):
        return html.escape(mark[0]) if mark[0] in "&<>" else f"\\{mark[0]}"

    return Markup(_MARKS.sub(escaped, visible(" ".join(str(text).split()))))


def as_source(svg: str) -> str:
    """An SVG picture as the source of an HTML image, so that a page holds it itself."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode('ascii')}"


def _without_hidden(value):
    plain = isinstance(value, str) and not isinstance(value, Markup)
    return visible(value) if plain else value


def render(template: str, **values) -> str:
    """The text of a template of this folder with these values in it, each of them escaped."""
    markdown = template.endswith(".md")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=escape_markdown if markdown else _without_hidden,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=markdown,
    )
    environment.filters["as_source"] = as_source
    return environment.get_template(template).render(**values)
