"""Files are read and written whole, or refused with a reason and a remedy."""

from __future__ import annotations

import os
import resource
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from tacit.errors import FileError
from tacit.files import (
    check_secret,
    create_secret,
    disk_warnings,
    erase,
    overwrite,
    read_bytes,
    read_text,
    read_toml,
    replace_file,
    replace_secret,
    replacing,
    writing,
)


def test_a_folder_and_a_wrong_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="this is a folder; name a file in it"):
        read_bytes(tmp_path)
    with pytest.raises(FileError, match=r"cannot be read .*; draw it again"):
        read_bytes("nul\0", remedy="draw it again")


def test_text_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_bytes(b"1\n\xff")
    with pytest.raises(FileError, match=r"w\.csv, line 2: byte 0xff is not UTF-8"):
        read_text(tmp_path / "w.csv")


def test_toml_is_read_or_refused(tmp_path: Path) -> None:
    place = tmp_path / "a.toml"
    place.write_text("a = 1")
    assert read_toml(place) == {"a": 1}
    place.write_text("a = ")
    with pytest.raises(FileError, match="is not TOML"):
        read_toml(place)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "a"
    replace_file(place, b"old")
    with pytest.raises(TypeError), replacing(place) as file:
        file.writelines([b"new", None])  # type: ignore[list-item]
    assert place.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("durable", [True, False])
def test_a_durable_file_is_synced_before_it_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    seen: list[tuple[bool, bool]] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        seen.append((is_folder, (tmp_path / "a").exists()))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(tmp_path / "a", b"x", durable=durable)
    assert seen == ([(False, False), (True, True)] if durable else [])


def test_secrets_are_for_their_owner_and_never_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "key"
    create_secret(place, b"one")
    check_secret(place)
    with pytest.raises(FileError, match="exists already"):
        create_secret(place, b"two")
    replace_secret(place, b"two")
    check_secret(place)
    place.chmod(0o640)
    with pytest.raises(FileError, match="can be read by others"):
        check_secret(place)
    with pytest.raises(FileError, match="cannot be written"):
        create_secret(tmp_path / "none" / "key", b"")
    with pytest.raises(FileError, match="choose another"), writing(place, remedy="choose another"):
        replace_secret(tmp_path / "none" / "key", b"")


def test_a_file_is_erased_in_as_many_bytes_as_it_has(tmp_path: Path) -> None:
    """On a disk that is full nothing may grow; a limit on the size of files shows that."""
    path, link = tmp_path / "key", tmp_path / "link"
    path.write_bytes(b"secret" * 20_000)
    os.link(path, link)
    overwrite(path)
    assert path.read_bytes() == bytes(120_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        erase(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not path.exists()
    assert link.read_bytes() == b""


@pytest.mark.parametrize(("free", "warned"), [(21, 0), (19, 1)])
def test_a_disk_that_is_nearly_full_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, warned: int
) -> None:
    disk = SimpleNamespace(used=100 - free, free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: disk)
    assert len(list(disk_warnings(tmp_path))) == warned
    assert list(disk_warnings(tmp_path / "none")) == []
