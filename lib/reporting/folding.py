"""Parts of a notebook that stay folded until the reader opens them."""

import base64
import html
from io import BytesIO

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

Part = pd.DataFrame | Figure | str


class Folded:
    """Tables, figures and text behind a line that opens them; what `folded` returns."""

    def __init__(self, summary: str, parts: tuple[Part, ...]):
        self.summary, self.parts = summary, parts
        for part in parts:
            if isinstance(part, Figure):  # a notebook would show an open figure a second time
                plt.close(part)

    def __repr__(self) -> str:
        shown = (part for part in self.parts if not isinstance(part, Figure))
        texts = (part.to_string() if isinstance(part, pd.DataFrame) else part for part in shown)
        return "\n\n".join([self.summary, *texts])

    def _repr_html_(self) -> str:
        shown = "\n".join(map(_as_html, self.parts))
        return f"<details><summary>{html.escape(self.summary)}</summary>\n{shown}\n</details>"


def folded(summary: str, *parts: Part) -> Folded:
    """Tables, figures and text that a notebook shows behind `summary`, closed at first.

    parts: in the order in which they are shown; lines of a text stay lines. Figures are closed, so
        save them before. Pictures in the output differ between machines: tag the cell
        `nbval-ignore-output`.

    >>> folded("One more table", "first line").parts
    ('first line',)
    """
    return Folded(summary, parts)


def _as_html(part: Part) -> str:
    if isinstance(part, pd.DataFrame):
        return part.to_html(border=0, justify="left")
    if isinstance(part, Figure):
        picture = BytesIO()
        part.savefig(picture, format="png", dpi=80, metadata={"Software": None})
        data = base64.b64encode(picture.getvalue()).decode("ascii")
        return f'<img alt="" style="max-width: 100%" src="data:image/png;base64,{data}">'
    return f'<pre style="white-space: pre-wrap">{html.escape(part)}</pre>'
