"""Rows of CSV files, with care for what a kill or a stray quote does to them."""

import codecs
import csv
import itertools
import re
from pathlib import Path

from lib.outcomes import contents
from lib.outcomes.errors import OutcomesError, count, start_of, warn
from lib.outcomes.values import as_passed, as_whole

_FORMULA = re.compile(r"'*[=+@\t-]")
_QUOTED_FORMULA = re.compile(r"\A'('*[=+@\t-])")


def quoted_formula(value):
    """A text that a spreadsheet would run as a formula, behind a quote; others as they are.

    `csv_rows` takes the quote away again.

    >>> quoted_formula("=cmd()|x"), quoted_formula("-3"), quoted_formula("a=b")
    ("'=cmd()|x", "'-3", 'a=b')
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def csv_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file, with the number of the line on which each ends.

    Fields are separated by commas, semicolons or tabs, whichever the header uses most. A torn last
    line is dropped with a warning, and so are lines that repeat the header. Raises OutcomesError
    naming the line of anything else.
    """
    lines, rows, suspects, headers = _Lines(path), [], [], []
    csv.field_size_limit(contents.LONGEST_LINE)  # a reason may be a long text
    header, trouble, last_good = None, None, 0
    try:
        mark = lines.delimiter()
        reader = csv.reader(lines, strict=True, delimiter=mark)
        header = next(reader, [])
        doubled = [name for name in header if header.count(name) > 1]
        if doubled:
            raise OutcomesError(f"{path}, line 1: column {doubled[0]!r} is there twice; drop one.")
        last_good = reader.line_num
        for fields in reader:
            spanned, lines.spanned = lines.spanned, []
            if trouble:
                raise trouble
            if len(fields) == len(header):
                last_good = reader.line_num
                start = last_good - len(spanned) + 1
                inner = _lines_like_rows(start, spanned, len(fields), mark)
                if inner and not lines.quotes_all():
                    suspects.append((start, last_good, inner))
                if _plain(fields) == _plain(header):
                    headers.append(start)
                else:
                    fields = [_QUOTED_FORMULA.sub(r"\1", field) for field in fields]
                    rows.append((last_good, dict(zip(header, fields, strict=True))))
            elif fields:
                trouble = OutcomesError(
                    f"{path}, line {reader.line_num}: expected {len(header)} fields, as in the "
                    f"header ({','.join(header)}); got {len(fields)}. Correct or delete that line."
                )
                if len(fields) > len(header):
                    raise trouble
    except (csv.Error, UnicodeDecodeError) as error:
        # A kill may cut a quote or a character of the last line. Trouble elsewhere is an error.
        if not (last_good and lines.number == last_good + 1 and not lines.last.endswith(b"\n")):
            raise OutcomesError(
                f"{path}, line {lines.number}: expected CSV in UTF-8, got {start_of(lines.last)} "
                f"({error}). Check that the file's suffix fits its content."
            ) from error
        trouble = error
    if trouble:
        warn_of_torn_line(path)
    elif not lines.last.endswith(b"\n"):
        warn(
            f"{path}: the last line does not end with a line break. If the file was cut short, the "
            "last number in it may be incomplete."
        )
    if headers:
        warn(
            f"{path}, line {headers[0]}: repeats the header, as where files were joined "
            f"({count(len(headers), 'such line')}); it was left out. Attempts of several files may "
            "have the same numbers: then read each file by itself."
        )
    _check_no_swallowed_rows(path, rows, suspects)
    return rows


def _plain(fields) -> list[str]:
    return [field.strip().casefold() for field in fields]


def warn_of_torn_line(path: Path) -> None:
    """Warn that the last line of a file was incomplete, and is not among its rows."""
    warn(f"{path}: the last line is torn, as after a kill, and was dropped.")


def _lines_like_rows(start, spanned, size, mark) -> list[tuple[int, str, list[str]]]:
    """Lines inside a row of several lines that have as many parts as a row.

    start: the number of the row's first line.  spanned: all its lines.
    Returns (number, line, parts) of each.
    """
    lines = enumerate((line.rstrip("\r\n") for line in spanned[1:]), start + 1)
    split = [(number, line, line.split(mark)) for number, line in lines]
    return [(number, line, parts) for number, line, parts in split if len(parts) == size]


def _check_no_swallowed_rows(path, rows, suspects) -> None:
    """Refuse a row of several lines if one of these is a row: a stray quote swallowed it.

    A reason may well hold line breaks and separators. But only a swallowed row has as many fields
    as a row, with a number, an outcome or a blank in each column that holds nothing else.
    suspects: (first line, last line, lines as of `_lines_like_rows`) of each row of several lines.
    """
    of_values = []
    for i, name in enumerate(rows[0][1] if suspects else ()):
        values = {row[name] for _, row in rows}
        if any(values) and all(map(_is_value, values)):
            of_values.append(i)
    for start, end, lines in suspects:
        for number, line, parts in lines:
            if of_values and all(_is_value(parts[i]) for i in of_values):
                raise OutcomesError(
                    f"{path}, lines {start} to {end}: line {number} looks like a row, but is "
                    f"inside a quoted field: {start_of(line.encode())}. Delete the quote that "
                    "opens the field, or close it on the same line."
                )


def _is_value(field) -> bool:
    """Whether a field is a number, an outcome or blank."""
    return as_passed(field) is not None or as_whole(field) is not None


class _Lines:
    """The lines of a file as text, with the place of the latest for messages.

    spanned: the lines read since this list was last cleared.
    """

    def __init__(self, path):
        self.path, self.number, self.last, self.spanned = path, 0, b"", []
        self._lines = contents.lines(path)
        _, self.first = next(self._lines, (1, b""))

    def delimiter(self) -> str:
        """The separator of the header's names: the commonest mark outside of quotes."""
        header = re.sub(rb'"[^"]*"', b"", self.first)
        return max(",;\t", key=lambda mark: header.count(mark.encode()))

    def quotes_all(self) -> bool:
        """Whether the header is in quotes, as written by tools that escape quotes in texts."""
        return self.first.removeprefix(codecs.BOM_UTF8).startswith(b'"')

    def __iter__(self):
        for number, line in itertools.chain([(1, self.first)] if self.first else [], self._lines):
            self.number, self.last = number, line
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            if number > 1:
                self.spanned.append(text)
            yield text
