"""The pictures of the README."""

import matplotlib.pyplot as plt

from lib import ROOT, claims
from lib.reporting.front_page import THUMBNAILS, make_thumbnails, opening_picture, thumbnail


def test_the_opening_picture_shows_the_numbers_that_the_paper_counted():
    table = claims.load("published", pairs=["gemma-4-31B"], benchmarks=["webshop"])
    figure = opening_picture(*claims.study(table, n_boot=0))
    texts = {text.get_text() for text in figure.gca().texts}
    plt.close(figure)
    assert {"23%", "40%", "88%", "56%"} <= texts


def test_every_notebook_has_a_small_thumbnail(tmp_path):
    for name, panel in THUMBNAILS.values():
        (tmp_path / f"{name}.svg").write_text(picture(panel))
    for path in make_thumbnails(tmp_path, width=200):
        assert 'width="200" height="100"' in path.read_text()
    notebooks = {path.name[:2] for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {path.stem for path in (tmp_path / "thumbnails").iterdir()} == notebooks


def test_a_thumbnail_keeps_the_curves_of_its_panel_and_drops_text():
    kept = thumbnail(picture(2), 2, width=100)
    assert "curve" in kept
    assert "words" not in kept
    assert 'viewBox="6 16 200 100"' in kept


def picture(panel):
    return (
        '<svg xmlns="http://www.w3.org/2000/svg"><metadata/><g id="figure_1">'
        f'<g id="axes_{panel}"><g id="patch_2"><path d="M 10 20 L 202 20 L 202 112 z"/></g>'
        '<g id="curve"/><g id="text_1">words</g></g></g></svg>'
    )
