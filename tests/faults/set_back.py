"""The folder of a node as a copy of it was, and the newest copy put back as docs/nodes.md says."""

from __future__ import annotations

import shutil
from pathlib import Path

from tacit.agreement import read_agreement
from tacit.node.keys import SEALING_KEYS, owner_of, sealing_key_name
from tests.faults.disks import replace_content

ENDED = b'"event":"ended"'


def agreements(data: Path) -> list[Path]:
    """The folders of the agreements that a node keeps."""
    return [path.parent for path in data.glob("*/agreement.json")]


def sealing_key(data: Path, agreement: Path) -> Path:
    """The file of the key that an agreement's rows were sealed to."""
    terms = read_agreement((agreement / "agreement.json").read_bytes())
    return data / SEALING_KEYS / sealing_key_name(owner_of(terms))


def log_of(agreement: Path) -> bytes:
    path = agreement / "log.jsonl"
    return path.read_bytes() if path.exists() else b""


def set_back(data: Path, old: Path, newest: Path) -> None:
    """Make a node's folder what it was, but for agreements that have ended since.

    Of those the old copy would have the keys again, which nobody tells the node to erase twice.
    """
    replace_content(data, old)
    for folder in agreements(newest):
        if ENDED in log_of(folder):
            _take_over(data, newest, folder.name)


def put_newest_back(data: Path, newest: Path) -> None:
    """Put each agreement back that the old copy knows less of, and that has not ended since."""
    for folder in agreements(newest):
        here = log_of(data / folder.name)
        if ENDED not in here and not here.startswith(log_of(folder)):
            _take_over(data, newest, folder.name)


def _take_over(data: Path, newest: Path, name: str) -> None:
    shutil.rmtree(data / name, ignore_errors=True)
    shutil.copytree(newest / name, data / name)
    there = sealing_key(newest, newest / name)
    here = data / SEALING_KEYS / there.name
    if there.exists():
        shutil.copy2(there, here)
    else:
        here.unlink(missing_ok=True)
