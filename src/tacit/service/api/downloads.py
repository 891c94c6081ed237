"""Files that people take away: CSV that no spreadsheet runs, and lines of a growing file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fastapi import Response

from tacit.participant import plain_cell

CHUNK = 256 * 1024


def csv_text(header: Sequence[str], lines: Iterable[Sequence[object]], /) -> str:
    r"""A table as CSV.

    >>> csv_text(["row", "name"], [(0, "@a"), (1, "b")])
    "row,name\n0,'@a\n1,b\n"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(
        [plain_cell(cell) if isinstance(cell, str) else cell for cell in line] for line in lines
    )
    return text.getvalue()


def download(data: str | bytes, name: str, media_type: str, /) -> Response:
    """An answer that browsers save; the name is made of what we chose ourselves."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=media_type, headers=headers)


def whole_lines(path: Path, /) -> Iterator[bytes]:
    r"""A file that somebody may be appending to, as far as its last whole line.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "lines"
    >>> _ = file.write_bytes(b"one\ntwo\nthr")
    >>> b"".join(whole_lines(file))
    b'one\ntwo\n'
    >>> list(whole_lines(file.with_name("none")))
    []
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        left, rest = path.stat().st_size, b""
        while left > 0 and (chunk := file.read(min(CHUNK, left))):
            left -= len(chunk)
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            if newline:
                yield whole + newline
