"""Define what a worker and the process above it say to each other, over a pipe."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Literal

import msgspec

from tacit.client import RunProgress
from tacit.service.storage.run_files import REPORT, FilePart

Stage = Literal["ready", "running", "ended", "failed"]


class Report(msgspec.Struct, frozen=True, kw_only=True, tag="report"):
    """Where a run stands; `plans` are the best-known ones, the one to use first."""

    stage: Stage
    seed: int | None = None
    """What the search follows from; known once the nodes are there."""
    generation: int = -1
    """Of a sealed run, its steps."""
    steps: int | None = None
    """How many steps a sealed run has, after which it ends."""
    evaluations: int = 0
    seconds: float = 0.0
    evaluations_per_second: float = 0.0
    best: list[float | bool | None] = []
    """The best that each objective has disclosed so far, in the users' unit."""
    disclosed: list[float | bool | None] = []
    """What each disclosed in the generation that the plans come from."""
    plans: list[list[int]] = []
    values: list[list[float | None]] = []
    """Of each of these plans, what was disclosed of its own values, in the users' unit."""
    for_owners: bool = False
    """Whether the plans were opened to their owners, so that none is here."""
    proved: bool | None = None
    """Whether these are proved to be optima, where the nodes prove it."""
    searches: list[int] = []
    """Of a sealed run, the numbers of the weightings that these were opened for."""
    gaps: list[float] | None = None
    """By at most how much each is worse than the optimum, where that was agreed."""
    stopped: str = ""
    """Why the search ended: a `StopReason`."""
    notes: list[str] = []
    at: float = 0.0
    """When this was so, in seconds since 1970: an old report is the last of a run that stalls."""
    error: str = ""
    can_retry: bool = False
    """Whether the same may work later."""

    @property
    def is_over(self) -> bool:
        """Whether the search has ended for good."""
        return self.stage == "ended" and not self.can_retry

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan, here or with its owners."""
        return bool(self.plans) or self.for_owners

    def progress(self) -> RunProgress:
        """What watchers see."""
        return RunProgress(
            generation=self.generation,
            steps=self.steps,
            evaluations=self.evaluations,
            evaluations_per_second=round(self.evaluations_per_second, 2),
            best=self.best,
            seconds=round(self.seconds, 3),
            at=round(self.at, 3),
        )


class LastReport(msgspec.Struct, frozen=True, tag="last report"):
    """The last report, with what is to be stored in one transaction with it.

    A plan that nodes revealed or opened is stored with the entry of the ledger that says so. Were
    the entry alone stored when the deadline comes, an honest platform would show another plan.
    """

    report: Report
    parts: list[FilePart]


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """The worker may search until this instant of CLOCK_MONOTONIC."""

    until: float


class PartStored(msgspec.Struct, frozen=True, tag="kept"):
    """The part with this number is stored."""

    number: int


_READ = msgspec.msgpack.Decoder(Report)
Said = Report | FilePart | LastReport
Order = Begin | PartStored
_READ_SAID: msgspec.msgpack.Decoder[Said] = msgspec.msgpack.Decoder(Said)
_READ_ORDER: msgspec.msgpack.Decoder[Order] = msgspec.msgpack.Decoder(Order)


class RunRequest(msgspec.Struct, frozen=True):
    """What a worker needs to know of its run."""

    run_id: str
    folder: str
    """With the files of the run as they are stored; it goes with the worker."""
    cluster: str
    """The path of the cluster's cluster.toml."""
    agreement: bytes
    signatures: dict[str, bytes]
    manifests: dict[int, list[bytes]]
    public: dict[int, list[list[int]]] = {}
    """The weights of public objectives."""
    fence: int = 0
    """Its requests to nodes carry it."""


def framed(message: Said | Order, /) -> bytes:
    """A message as it goes over the pipe: its length, then itself."""
    data = msgspec.msgpack.encode(message)
    return struct.pack("<I", len(data)) + data


def decode_said(data: bytes, /) -> Said:
    """What a worker says."""
    return _READ_SAID.decode(data)


def decode_order(data: bytes, /) -> Order:
    """What a worker is told."""
    return _READ_ORDER.decode(data)


def report_part(report: Report, /) -> FilePart:
    """A report as a file of its run."""
    return FilePart(REPORT, msgspec.msgpack.encode(report))


def decode_report(data: bytes | None, /) -> Report | None:
    """The last report of a run, or None if there is none that can be read."""
    try:
        return None if data is None else _READ.decode(data)
    except msgspec.DecodeError:
        return None


def read_report(folder: Path, /) -> Report | None:
    """The last report among the files of a run."""
    path = folder / REPORT
    return decode_report(path.read_bytes() if path.exists() else None)
