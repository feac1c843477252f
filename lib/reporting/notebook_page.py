"""An executed notebook as one HTML page that needs no network, and reads on a phone."""

from pathlib import Path

from nbconvert import HTMLExporter

_TEMPLATE = """
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock html_head_js -%}
{%- block html_head_js_mathjax -%}{%- endblock html_head_js_mathjax -%}
{%- block html_head_js_mermaidjs -%}{%- endblock html_head_js_mermaidjs -%}
{%- block jupyter_widgets -%}{%- endblock jupyter_widgets -%}
{%- block html_head_css -%}
<style>
  body.jp-Notebook { max-width: 62rem; margin: 0 auto; padding: 1rem; }
  .jp-RenderedHTMLCommon img, .jp-RenderedImage img { max-width: 100%; height: auto; }
  .jp-OutputArea-output, .jp-RenderedHTMLCommon { overflow-x: auto; }
  .jp-OutputArea-output pre { word-break: normal; overflow-wrap: anywhere; }
  details.code { margin: .25rem 0; }
  details.code > summary { color: #5b6470; cursor: pointer; font-size: .85rem; }
  @media (max-width: 700px) {
    body.jp-Notebook { padding: .25rem; }
    .jp-InputPrompt, .jp-OutputPrompt { display: none; }
    .jp-Cell { padding: .25rem; }
    /* Panels side by side stay large enough to read: the reader moves the picture sideways. */
    .jp-RenderedImage img { max-width: none; }
  }
</style>
{%- endblock html_head_css -%}
{%- block input_group -%}
{%- if 'hide-input' in cell.metadata.get('tags', []) -%}
<details class="code"><summary>code</summary>{{ super() }}</details>
{%- else -%}
{{ super() }}
{%- endif -%}
{%- endblock input_group -%}
"""


def render_notebook(path: str | Path) -> str:
    """The HTML of a notebook, pictures and styles inside.

    Cells tagged hide-input have their code folded. There is no script, so formulas in TeX stay as
    they were written, and widgets are not shown.
    """
    return HTMLExporter(raw_template=_TEMPLATE).from_filename(str(path))[0]
