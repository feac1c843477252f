"""Zip archives: bombs, paths, and bytes that differ from the list."""

import struct
import zipfile

import pytest

from lib import ROOT
from lib.outcomes import OutcomesError, importers

EXAMPLES = ROOT / "data" / "examples"


def archive_of(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_bomb_is_refused(tmp_path):
    path = archive_of(tmp_path / "a.eval", bomb=b"\0" * 30_000_000)
    with pytest.raises(OutcomesError, match="like a zip bomb"):
        importers.load(path)


def test_a_bomb_that_lies_about_its_size_is_refused(tmp_path):
    path = archive_of(tmp_path / "a.eval", **{"header.json": b"\0" * 30_000_000})
    raw = path.read_bytes()
    small = struct.pack("<L", 100)
    path.write_bytes(raw.replace(struct.pack("<L", 30_000_000), small))
    with pytest.raises(OutcomesError, match=r"a\.eval"):
        importers.load(path)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "samples\\..\\..\\x.json"])
def test_a_path_outside_of_the_archive_is_refused(tmp_path, name):
    path = archive_of(tmp_path / "a.eval", **{name: b"{}"})
    with pytest.raises(OutcomesError, match="has a path outside of the archive"):
        importers.load(path)


def test_bytes_that_are_not_those_listed_are_refused(tmp_path):
    raw = bytearray((EXAMPLES / "inspect" / "base.eval").read_bytes())
    raw[2000] ^= 0x55  # in the packed bytes of a sample
    (tmp_path / "a.eval").write_bytes(raw)
    with pytest.raises(OutcomesError, match=r"a\.eval"):
        importers.load(tmp_path / "a.eval")


def test_an_odd_version_in_the_list_of_members_is_damage(tmp_path):
    path = archive_of(tmp_path / "a.eval", **{"header.json": b"{}"})
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 6] = 200
    path.write_bytes(raw)
    with pytest.raises(OutcomesError, match=r"a\.eval: not a whole zip archive"):
        importers.load(path)
