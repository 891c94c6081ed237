"""The ledger: everything that the nodes have revealed so far, in the order in which they did."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tacit.engine.agreement.plan_parts import PlanHeads
from tacit.errors import FileError, LogError
from tacit.files import read_bytes, writing

Parts = list[list[tuple[int, list[bytes]]]]
"""Per node, the substreams that it sent to the platform, each with its number and frames."""


class _Entry(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="entry",
):
    """What all entries have: a tag."""


class EvaluationAnswer(_Entry, frozen=True, tag="answer"):
    """What one evaluation disclosed."""

    objective: int
    number: int
    request: str
    """The hash of the request, as the nodes log it."""
    disclosed: list[int]
    best: int | bool | None
    parts: Parts = []
    again: bool = False
    """The same answer once more, since a node failed before it had logged the first."""
    without: int | None = None
    """The node that the others went on without: computed by three, not checked."""
    unchecked: bool = False
    """Computed by all, from a best so far that three had left: that it improved is not checked."""


class RevealedBest(_Entry, frozen=True, tag="best"):
    """Which of the candidates of the final reveal is truly best."""

    objective: int
    index: int


class FrontAnswer(_Entry, frozen=True, tag="front"):
    """Which candidates of the final reveal are non-dominated, and their values if agreed."""

    objective: int
    request: str
    """The hash of the request with its candidates, as the nodes log it."""
    candidates: int
    nondominated: list[int]
    values: list[list[int]] | None
    """Of each of them, its fitness in every objective."""
    parts: Parts
    without: int | None = None
    """The node that the others went on without: computed by three, not checked."""


class FinishedBit(_Entry, frozen=True, tag="finished"):
    """Whether all plans of a group were proved after a step, where it was agreed to open that."""

    search: int
    number: int
    """The step."""
    request: str
    """The hash of the request, as the nodes log it."""
    finished: bool
    parts: Parts
    without: int | None = None
    """The node that the others went on without."""
    unchecked: bool = False
    """Computed by all, from a state that three had left: not checked either."""


class OpenedPlan(_Entry, frozen=True, tag="plan"):
    """The plan of a sealed search, and its value where that was agreed."""

    search: int
    plan: list[int]
    value: int | None
    parts: Parts
    unchecked: bool = False
    """Whether three nodes computed for a while on the way to it."""
    outcome: str | None = None
    """What is proved of it, if it is of an assignment: `optimum` or `feasible`."""
    gap: int | None = None
    """By at most how much it is worse than the optimum, where that was agreed."""


class OwnersPlan(_Entry, frozen=True, tag="plan for owners"):
    """That a plan was opened to its owners, and its value where that was agreed; nothing of it."""

    search: int
    attempt: str
    """Whose state has the plan."""
    value: int | None
    parts: Parts
    """Of the value."""
    heads: list[PlanHeads | None]
    """Per node, what binds it to its parts and boxes; none of a node that was away."""
    unchecked: bool = False
    """Whether three nodes computed for a while on the way to it."""
    outcome: str | None = None
    """What is proved of it, if it is of an assignment: `optimum` or `feasible`."""
    gap: int | None = None
    """By at most how much it is worse than the optimum, where that was agreed."""


LedgerEntry = EvaluationAnswer | RevealedBest | FrontAnswer | FinishedBit | OpenedPlan | OwnersPlan


_READ = msgspec.json.Decoder(LedgerEntry)
_ENCODER = msgspec.json.Encoder(order="sorted")
_MAKE_ROOM = "make room, and start again"


def decode_entry(line: bytes, /) -> LedgerEntry:
    """An entry from its line; raises msgspec's errors."""
    entry: LedgerEntry = _READ.decode(line)
    return entry


class Ledger:
    """A list of entries, appended to a file if one is given. `FileLedger` keeps none in memory."""

    def __init__(self, path: Path | None = None, /) -> None:
        self.entries: list[LedgerEntry] = []
        self._path = path
        if path is not None:
            with writing(path):
                path.write_bytes(b"")

    def add(self, entry: LedgerEntry, /) -> None:
        """Write an entry."""
        self.entries.append(entry)
        if self._path is not None:
            with writing(self._path, remedy=_MAKE_ROOM), self._path.open("ab") as file:
                file.write(_ENCODER.encode(entry) + b"\n")


class FileLedger(Ledger):
    """A ledger in a file alone, which goes on where it ended.

    With `sync` each entry is on the disk before anything is made of it: where nodes repeat the last
    evaluation only, no answer may be lost, not even in a power cut.
    """

    def __init__(self, path: Path, /, *, sync: bool = False) -> None:
        super().__init__()
        self._sync = sync
        with writing(path):
            self._file = path.open("ab")
            # Half a line is what a crash leaves; its evaluation is asked for again.
            self._file.truncate(path.read_bytes().rfind(b"\n") + 1)

    def add(self, entry: LedgerEntry, /) -> None:
        """Append an entry."""
        self._file.write(_ENCODER.encode(entry) + b"\n")
        self._file.flush()
        if self._sync:
            os.fsync(self._file.fileno())

    def sync(self) -> None:
        """Wait until all entries are on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Nothing more is added."""
        self._file.close()


def read_ledger(data: bytes, /) -> list[LedgerEntry]:
    """All entries of a ledger, or a `LogError`."""
    entries = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            entries.append(decode_entry(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise LogError(
                f"line {number} is not a ledger entry ({error}); ask for the whole ledger"
            ) from None
    return entries


def load_ledger(path: Path, /) -> list[LedgerEntry]:
    """Read a ledger's file."""
    try:
        return read_ledger(read_bytes(path))
    except LogError as error:
        raise FileError(path, None, f"is not a ledger ({error})", "give another") from None
