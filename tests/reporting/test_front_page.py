"""The pictures of the README."""

import matplotlib.pyplot as plt
from PIL import Image

from lib import ROOT, claims
from lib.reporting.front_page import THUMBNAILS, make_thumbnails, opening_picture


def test_the_opening_picture_shows_the_numbers_that_the_paper_counted():
    table = claims.load("published", pairs=["gemma-4-31B"], benchmarks=["webshop"])
    figure = opening_picture(*claims.study(table, n_boot=0))
    texts = {text.get_text() for text in figure.gca().texts}
    plt.close(figure)
    assert {"23%", "40%", "88%", "56%"} <= texts


def test_every_notebook_has_a_small_thumbnail(tmp_path):
    for name, _ in THUMBNAILS.values():
        Image.new("RGB", (1000, 500), "white").save(tmp_path / f"{name}.png")
    for path in make_thumbnails(tmp_path, width=200):
        with Image.open(path) as picture:
            assert picture.width == 200
    notebooks = {path.name[:2] for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {path.stem for path in (tmp_path / "thumbnails").iterdir()} == notebooks
