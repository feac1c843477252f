"""The printed figures: read with their tolerance and source, none altered by its reading."""

import pandas as pd
import pytest

from lib.claims import paper_tables

TABLES = pd.read_csv(paper_tables.FOLDER / "sources.csv")["table"].tolist()


@pytest.mark.parametrize(
    ("printed", "value", "tolerance"),
    [
        ("0.036", 0.036, 0.0005),
        ("46.5", 46.5, 0.05),
        ("56 %", 56, 0.5),
        ("> 85 %", 85, 0.5),
        ("36 of 42", 36, 0),
        ("-0.02", -0.02, 0.005),
    ],
)
def test_tolerance_is_half_a_unit_of_the_last_digit(printed, value, tolerance):
    figure = paper_tables.figure(printed, "somewhere")
    assert figure.value == value
    assert figure.tolerance == pytest.approx(tolerance)


def test_text_without_a_number_is_refused():
    with pytest.raises(ValueError, match="'many': expected a printed number"):
        paper_tables.figure("many", "somewhere")


@pytest.mark.parametrize("name", TABLES)
def test_every_number_has_a_source(name):
    assert paper_tables.source(name)
    rows = paper_tables.figures(name)
    assert all("arXiv" in source for source in rows["source"])
    assert rows["value"].notna().all()


def test_every_table_in_the_folder_is_listed():
    files = {path.stem for path in paper_tables.FOLDER.glob("*.csv")} - {"sources"}
    assert files == set(TABLES)


def test_unknown_names_are_answered_with_the_known():
    with pytest.raises(KeyError, match="there are rollout_counts"):
        paper_tables.table("nothing")
    with pytest.raises(KeyError, match="there are tax_positive"):
        paper_tables.headline("nothing")


def test_the_counts_are_whole_cells():
    cells = paper_tables.rollout_counts().groupby(["benchmark", "pair", "arm"])["tasks"].sum()
    assert len(cells) == 24
    sizes = cells.groupby("benchmark").unique().map(list).to_dict()
    assert sizes == {"bfcl": [200], "webshop": [500], "acebench": [770]}


def test_pairs_and_decoding_agree_with_the_counts():
    counts = paper_tables.rollout_counts()
    assert set(counts["pair"]) <= set(paper_tables.table("model_pairs")["pair"])
    decoding = paper_tables.table("decoding").set_index("benchmark")
    assert counts["n"].unique().tolist() == decoding["rollouts"].unique().tolist()
