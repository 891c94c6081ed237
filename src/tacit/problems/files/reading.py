"""Opening a file that the user named, with a clear word where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import FileError, InputError


def read_bytes(path: Path, /) -> bytes:
    """Read the whole file.

    >>> read_bytes(Path("nowhere.csv"))
    Traceback (most recent call last):
    tacit.errors.FileError: nowhere.csv: there is no such file; check the path
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise FileError(path, None, "there is no such file", "check the path") from None
    except IsADirectoryError:
        raise FileError(path, None, "this is a folder", "name a file in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(
            path, None, f"cannot be read ({reason})", "check the path and its permissions"
        ) from None


def read_text(path: Path, /) -> str:
    r"""Read a UTF-8 file, with or without a byte-order mark.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "w.csv")
    ...     _ = file.write_bytes(b"\xef\xbb\xbf1,2")
    ...     read_text(file)
    '1,2'
    """
    raw = read_bytes(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileError(
            path,
            f"line {line}",
            f"byte {raw[error.start]:#04x} is not UTF-8",
            "save the file as UTF-8",
        ) from None


@contextmanager
def naming_file(path: Path | str, place: str | None = None, /) -> Iterator[None]:
    """Turn what the model refuses inside the block into an error that names the file.

    >>> from tacit.errors import ProblemError
    >>> with naming_file("p.json", "participants"):
    ...     raise ProblemError("row 4 has no owner; add it to one participant's rows")
    Traceback (most recent call last):
    tacit.errors.FileError: p.json, participants: row 4 has no owner; add it to one \
participant's rows
    """
    try:
        yield
    except FileError:
        raise
    except InputError as error:
        what, _, remedy = str(error).rpartition("; ")
        raise FileError(path, place, what or remedy, remedy if what else "correct it") from None
