"""A small disk of its own for each data folder, which can be full or read-only. Needs root."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

MEGABYTES = 48
FILLER = "filler"
BUSY_SECONDS = 10.0
"""How long a file that is being written may keep a disk from becoming read-only."""


class Disk:
    """A folder that is a tmpfs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def mount(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        options = f"size={MEGABYTES}m,mode=700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.folder], check=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", self.folder], check=False)

    def fill(self) -> None:
        """Take every free block; files keep what room their last block has."""
        block = bytes(1 << 20)
        with (self.folder / FILLER).open("ab", buffering=0) as file:
            while len(block) >= 512:
                try:
                    file.write(block)
                except OSError:
                    block = block[: len(block) // 2]

    def make_room(self) -> None:
        (self.folder / FILLER).unlink(missing_ok=True)

    def make_read_only(self) -> None:
        """Refuse every write, as a file system does after an error of its device."""
        until = time.monotonic() + BUSY_SECONDS
        while not self._remount("ro"):
            if time.monotonic() > until:
                raise RuntimeError(f"{self.folder} does not become read-only: it is in use")
            time.sleep(0.01)

    def make_writable(self) -> None:
        if not self._remount("rw"):
            raise RuntimeError(f"{self.folder} does not become writable again")

    def _remount(self, how: str) -> bool:
        done = subprocess.run(
            ["mount", "-o", f"remount,{how}", self.folder], capture_output=True, check=False
        )
        return done.returncode == 0


def refuse_writes(pid: int) -> None:
    """Have every write of a process to a file fail, as a full disk does; needs no root."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def allow_writes(pid: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)


def used_bytes(folder: Path) -> int:
    """Bytes of all files in a folder, whatever disk it is on."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() and path.name != FILLER else 0
    return total


def replace_content(folder: Path, by: Path) -> None:
    """Make a folder have what another one has; it may be a mount point, so it stays itself."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    shutil.copytree(by, folder, dirs_exist_ok=True, copy_function=_copy)


def _copy(source: str, target: str) -> None:
    shutil.copy2(source, target)
    status = Path(source).stat()
    os.chown(target, status.st_uid, status.st_gid)
