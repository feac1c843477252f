"""The command readme writes pages only from notebooks that show claims."""

from lib.__main__ import main


def test_a_folder_without_claims_leaves_the_pages_as_they_are(tmp_path, capsys):
    page = tmp_path / "claims.md"
    page.write_text("kept")
    arguments = ["readme", "--notebooks", str(tmp_path / "none"), "--page", str(page)]
    assert main([*arguments, "--readme", str(page)]) == 2
    assert "--notebooks" in capsys.readouterr().err
    assert page.read_text() == "kept"
