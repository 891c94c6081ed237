"""Store the files of runs, piece by piece.

A run has these files; `tacit.runs` and the process of the run write them::

    ledger.jsonl      everything the nodes have revealed, one entry per line and piece
    checkpoint-0, -1  where the search stood at the last two checkpoints
    revealing         exists as soon as nodes may have revealed the best plan
    counting          the plan that nodes may have counted, where balances are kept
    parts-0.msgpack   boxes of a plan for its owners, which only they open
    report.msgpack    the last report
    progress.csv      a line per generation, or fewer if there are many
    audit.zip         the bundle that everybody gets once the run is settled
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from tacit.service.storage.database import Database
from tacit.service.storage.models import RunFile

AUDIT, PROGRESS, REPORT = "audit.zip", "progress.csv", "report.msgpack"
PIECE = 1 << 20
"""Larger data is stored in pieces of this size."""
BATCH = 100


class FilePart(msgspec.Struct, frozen=True, tag="file"):
    """What the process of a run adds to one of its files."""

    name: str
    data: bytes
    offset: int | None = None
    """Where it goes; None if it replaces the whole file."""
    number: int = 0
    """Of those whose process waits until they are stored; 0 for others."""


def store_part(session: Session, run_id: str, part: FilePart, /) -> None:
    """Replace a file, or add to it; the same once more changes nothing."""
    if part.offset is None:
        session.execute(delete(RunFile).where(RunFile.run == run_id, RunFile.name == part.name))
        session.flush()
    at = part.offset or 0
    # An empty file has one piece, too.
    for start in range(0, max(1, len(part.data)), PIECE):
        data = part.data[start : start + PIECE]
        session.merge(RunFile(run=run_id, name=part.name, offset=at + start, data=data))


def replace_run_file(session: Session, run_id: str, name: str, data: bytes, /) -> None:
    store_part(session, run_id, FilePart(name, data))


def file_pieces(
    session: Session,
    run_id: str,
    name: str,
    /,
    *,
    start: int = 0,
    end: int | None = None,
    limit: int | None = None,
) -> list[RunFile]:
    """The pieces of a file from an offset on, before another."""
    query = select(RunFile).where(RunFile.run == run_id, RunFile.name == name)
    query = query.where(RunFile.offset >= start).order_by(RunFile.offset).limit(limit)
    if end is not None:
        query = query.where(RunFile.offset < end)
    return list(session.scalars(query))


def read_run_file(session: Session, run_id: str, name: str, /) -> bytes | None:
    """A whole file; None if there is none."""
    pieces = file_pieces(session, run_id, name)
    return b"".join(piece.data for piece in pieces) if pieces else None


def file_size(session: Session, run_id: str, name: str, /) -> int:
    """How long a file is; 0 if there is none."""
    query = select(RunFile).where(RunFile.run == run_id, RunFile.name == name)
    last = session.scalar(query.order_by(RunFile.offset.desc()).limit(1))
    return 0 if last is None else last.offset + len(last.data)


async def stream_file(database: Database, run_id: str, name: str, /) -> AsyncIterator[bytes]:
    """A file as it is now, however slowly it is read: a run may add to it faster."""
    at, end = 0, await database.read(file_size, run_id, name)
    while at < end:
        pieces = await database.read(file_pieces, run_id, name, start=at, end=end, limit=BATCH)
        if not pieces:
            return
        for piece in pieces:
            yield piece.data
            at = piece.offset + len(piece.data)


def restore_files(session: Session, run_id: str, folder: Path, /) -> None:
    """Write the files of a run into a folder, but for what is made of them after its end."""
    query = select(RunFile).where(RunFile.run == run_id, RunFile.name != AUDIT)
    pieces = session.scalars(query.order_by(RunFile.name, RunFile.offset))
    for piece in pieces.yield_per(BATCH):
        with (folder / piece.name).open("ab") as file:
            file.write(piece.data)
        session.expunge(piece)
