"""Reading and writing files: a failure names the file, the reason and a remedy.

A file is replaced whole or not at all. Where it is `durable`, it is on the disk when the call
returns, and where it is `private`, only its owner can read it.
"""

from __future__ import annotations

import os
import resource
import secrets
import shutil
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from tacit.errors import FileError, InputError

CHECK_PATH = "check the path"
_ERASE_AT_ONCE = 1 << 16
DISK_PART = 0.8
"""When so much of a disk is taken, there is still time to act."""


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


@contextmanager
def reading(path: str | Path, /, *, remedy: str = CHECK_PATH) -> Iterator[None]:
    """Turn what the system refuses inside the block into an error that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise FileError(path, None, "there is no such file", remedy) from None
    except IsADirectoryError:
        raise FileError(path, None, "this is a folder", "name a file in it") from None
    except OSError as error:
        raise FileError(path, None, f"cannot be read ({error.strerror})", remedy) from None


@contextmanager
def writing(path: str | Path, /, *, remedy: str = "choose another place") -> Iterator[None]:
    """Turn what the system refuses inside the block into an error that names the file.

    >>> with writing("no-folder/plan.csv"):
    ...     Path("no-folder/plan.csv").write_text("0,1")
    Traceback (most recent call last):
    tacit.errors.FileError: no-folder/plan.csv: cannot be written (No such file or directory); \
choose another place
    """
    try:
        yield
    except OSError as error:
        raise FileError(path, None, f"cannot be written ({error.strerror})", remedy) from None


def read_bytes(path: str | Path, /, *, remedy: str = CHECK_PATH) -> bytes:
    """Read the whole file.

    >>> read_bytes("nowhere.csv")
    Traceback (most recent call last):
    tacit.errors.FileError: nowhere.csv: there is no such file; check the path
    """
    with reading(path, remedy=remedy):
        try:
            return Path(path).read_bytes()
        except ValueError as error:  # a name with a null character
            raise FileError(path, None, f"cannot be read ({error})", remedy) from None


def read_text(path: str | Path, /, *, remedy: str = CHECK_PATH) -> str:
    r"""Read a UTF-8 file, with or without a byte-order mark.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "w.csv")
    ...     _ = file.write_bytes(b"\xef\xbb\xbf1,2")
    ...     read_text(file)
    '1,2'
    """
    raw = read_bytes(path, remedy=remedy)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = f"byte {raw[error.start]:#04x} is not UTF-8"
        raise FileError(path, f"line {line}", what, "save the file as UTF-8") from None


def read_toml(path: str | Path, /, *, remedy: str = CHECK_PATH) -> dict[str, Any]:
    """Read a TOML file as a table."""
    try:
        return tomllib.loads(read_text(path, remedy=remedy))
    except tomllib.TOMLDecodeError as error:
        raise FileError(path, None, f"is not TOML ({error})", "correct it") from None


class _Versioned(msgspec.Struct):
    """Of any JSON object, its format."""

    format: str


_READ_VERSIONED = msgspec.json.Decoder(_Versioned)


def other_version(data: bytes | Mapping[str, object], expected: str, /) -> str | None:
    r"""Say that another version of tacit wrote something; None if its format does not say so.

    A format is a name and a number. It is the first line of a binary file, and `format` elsewhere.

    >>> other_version(b'{"format":"tacit-keys/2"}', "tacit-keys/1")
    "has the format 'tacit-keys/2' of another version of tacit; this one reads 'tacit-keys/1'"
    >>> other_version(b"tacit-record/1\n...", "tacit-record/1")
    >>> other_version({"format": "tacit-result/2"}, "tacit-keys/1")
    """
    kind = f"{expected.partition('/')[0]}/"
    if isinstance(data, Mapping):
        found = str(data.get("format", ""))[:80]
    elif data.startswith(kind.encode()):
        found = data[:80].partition(b"\n")[0].decode(errors="replace")
    else:
        try:
            found = _READ_VERSIONED.decode(data).format[:80]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
    if not found.startswith(kind) or found == expected:
        return None
    return f"has the format {found!r} of another version of tacit; this one reads {expected!r}"


@contextmanager
def replacing(path: Path, /, *, private: bool = False, durable: bool = False) -> Iterator[BinaryIO]:
    """Open a new file beside the old one, and put it in its place at the end of the block."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    # Never a file that exists: nobody can have put a link there that leads elsewhere.
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        # A rename within a folder is atomic: a crash leaves the old file or the new one, whole.
        draft.replace(path)
    # Also on Ctrl-C: a draft may hold a secret, and nobody would look for it.
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    # The rename itself is lost by a power cut unless the folder is on the disk too.
    if durable:
        _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def keep_on_disk(path: Path, /) -> None:
    """Return when a file, as it is now, would survive a power cut."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
    _sync_folder(path.parent)


def remove_drafts(folder: Path, /) -> None:
    """Remove what `replacing` left in a killed process, once no other process writes there."""
    for draft in folder.rglob(".*"):
        if draft.is_file():
            draft.unlink()


def replace_file(path: Path, data: bytes, /, *, durable: bool = False) -> None:
    """Replace a file as a whole."""
    with replacing(path, durable=durable) as file:
        file.write(data)


def replace_secret(path: Path, data: bytes, /) -> None:
    """Replace a file that only its owner can read, and return when it is on the disk.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "note"
    >>> replace_secret(place, b"new")
    >>> place.read_bytes(), oct(stat.S_IMODE(place.stat().st_mode))
    (b'new', '0o600')
    """
    with replacing(path, private=True, durable=True) as file:
        file.write(data)


def create_secret(path: Path, data: bytes, /) -> None:
    """Create a file that only its owner can read, and never overwrite one."""
    with writing(path):
        try:
            # The mode is set as the file is made: at no instant could others open it.
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise FileError(path, None, "exists already", "secrets are not overwritten") from None
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def check_secret(path: Path, /, *, remedy: str = "make new ones") -> None:
    """Refuse a file of secrets that others than its owner can read."""
    with reading(path, remedy=remedy):
        mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise FileError(path, None, "can be read by others", "chmod 600 it, or make new keys")


def check_user(place: Path, /) -> None:
    """Refuse an administrator who would leave files that the service's own user cannot use."""
    import pwd  # which other systems lack

    # The nearest folder that exists: whoever owns it runs the service that reads the files.
    there = next(each for each in (place, *place.absolute().parents) if each.exists())
    owner = there.stat().st_uid
    if os.geteuid() != 0 or owner == 0:
        return
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = f"#{owner}"
    raise InputError(
        f"{there} belongs to {name!r}, who could not use what root writes there; run the same as "
        f"that user: runuser -u {name} -- tacit ..."
    )


def overwrite(path: Path, /) -> None:
    """Put zeros in place of all bytes of a file; they are on the disk when this returns.

    A disk that writes elsewhere each time (flash, snapshots, copy on write) keeps the old bytes for
    a while; only an encrypted disk helps against that.
    """
    # As many bytes as there are, in place: that works on a disk that is full.
    file = os.open(path, os.O_WRONLY)
    try:
        left = os.fstat(file).st_size
        while left:
            left -= os.write(file, bytes(min(left, _ERASE_AT_ONCE)))
        os.fsync(file)
    finally:
        os.close(file)


def erase(path: Path, /) -> None:
    """Overwrite a file of secrets, then remove it; nothing happens if it is gone.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "note"
    >>> create_secret(place, b"new")
    >>> erase(place), place.exists(), erase(place)
    (None, False, None)
    """
    try:
        overwrite(path)
    except FileNotFoundError:
        return
    # Only now: a name removed before the zeros are on the disk would leave the secret there.
    os.truncate(path, 0)
    path.unlink()
    _sync_folder(path.parent)


def disk_warnings(folder: Path, /) -> Iterator[str]:
    """A sentence if the disk of a folder is nearly full."""
    if folder.exists():
        disk = shutil.disk_usage(folder)
        if disk.used > DISK_PART * (disk.used + disk.free):
            free = disk.free / 1e9
            yield f"the disk of {folder} has {free:.1f} GB left; make room, or take a larger one"


def forbid_core_files() -> None:
    """Have this process and those that it starts leave no image of their memory when they crash.

    Keys and shares would be on the disk, outside of what is erased. Units say so too; a node or a
    platform that is started by hand has no unit.
    """
    with suppress(OSError, ValueError):  # a unit's filter may forbid the call, and has a limit of 0
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
