"""Folded parts of a notebook."""

import matplotlib.pyplot as plt
import pandas as pd

from lib.reporting import folded


def test_a_table_is_behind_its_summary():
    shown = folded("More < all", pd.DataFrame({"k": [8]}))
    assert shown._repr_html_().startswith("<details><summary>More &lt; all</summary>")
    assert "<td>8</td>" in shown._repr_html_()


def test_text_keeps_its_lines_and_is_no_markup():
    assert ">a &lt; b\nc</pre>" in folded("why", "a < b\nc")._repr_html_()


def test_plain_text_has_the_tables_and_no_figure():
    shown = folded("why", pd.DataFrame({"k": [8]}), plt.figure())
    assert repr(shown).split() == ["why", "k", "0", "8"]
    assert "data:image/png;base64," in shown._repr_html_()


def test_a_folded_figure_is_not_shown_twice():
    before = plt.get_fignums()
    folded("why", plt.figure())
    assert plt.get_fignums() == before
