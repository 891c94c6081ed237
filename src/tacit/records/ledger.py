"""The platform's ledger: one entry for each disclosure, in their order, with what proves it.

The platform's ledger has an entry `Disclosed` per disclosure, with a payload of its own kind. The
nodes log `Sent` with the same kind, number, attempt and request, and a salted hash of what left
them. So one check (`tacit.verify`) holds any entry against the logs. A new disclosure adds a
payload here, and the function in `tacit.records.payload_parts` that makes it from what the nodes
sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from tacit.agreement.plan_parts import PlanHeads, SealedParts
from tacit.errors import FileError, LogError
from tacit.files import keep_on_disk, read_bytes, replace_file, writing
from tacit.records.requests import Attempt, decode_attempt, encode_attempt

Keep = Callable[[Path], None]
"""Returns when a file, as it is now, survives whatever happens to this process and its computer."""
Parts = list[list[tuple[int, list[bytes]]]]
"""Per node, the substreams that it sent to the platform, each with its number and frames."""


class DisclosureKind(StrEnum):
    """The kinds of disclosures, by which payloads are tagged."""

    LABELS = "labels"
    BEST = "best"
    FRONT = "front"
    PROVED = "proved"
    PLAN = "plan"
    OWNERS_PLAN = "plan for owners"

    @property
    def opens_plan(self) -> bool:
        """Return whether it opens the plan of a sealed search, of which each node sends shares."""
        return self in (DisclosureKind.PLAN, DisclosureKind.OWNERS_PLAN)

    @property
    def is_final(self) -> bool:
        """Return whether it is disclosed once per objective or search, however often it is sent."""
        return self not in (DisclosureKind.LABELS, DisclosureKind.PROVED)


class _Payload(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
):
    """The base of all payloads, which gives them a tag."""

    @property
    def kind(self) -> DisclosureKind:
        return DisclosureKind(str(self.__struct_config__.tag))


class DisclosedLabels(_Payload, frozen=True, tag="labels"):
    """What one evaluation disclosed of its candidates."""

    labels: list[int]
    best: int | bool | None = None
    """The best fitness, or whether it improved, as agreed."""


class DisclosedBest(_Payload, frozen=True, tag="best"):
    """Which candidate of the final reveal is truly best."""

    candidates: int
    index: int


class DisclosedFront(_Payload, frozen=True, tag="front"):
    """Which candidates of the final reveal are non-dominated, and their values if agreed."""

    candidates: int
    nondominated: list[int]
    values: list[list[int]] | None = None
    """Of each of them, its fitness in every objective."""


class DisclosedProof(_Payload, frozen=True, tag="proved"):
    """Whether all plans of a group are proved after a step, where it is agreed to open that."""

    finished: bool


class DisclosedPlan(_Payload, frozen=True, tag="plan"):
    """The plan of a sealed search."""

    plan: list[int]
    value: int | None = None
    """Where that was agreed."""
    outcome: str | None = None
    """What is proved of it, if it is of an assignment: `optimum` or `feasible`."""
    gap: int | None = None
    """By at most how much it is worse than the optimum, where that was agreed."""


class DisclosedToOwners(_Payload, frozen=True, tag="plan for owners"):
    """That a plan was opened to its owners; nothing of the plan itself."""

    heads: list[PlanHeads | None]
    """Per node, what binds it to its parts and boxes; none of a node that was away."""
    value: int | None = None
    """Where that was agreed."""
    outcome: str | None = None
    """What is proved of it, if it is of an assignment: `optimum` or `feasible`."""
    gap: int | None = None
    """By at most how much it is worse than the optimum, where that was agreed."""


Payload = (
    DisclosedLabels
    | DisclosedBest
    | DisclosedFront
    | DisclosedProof
    | DisclosedPlan
    | DisclosedToOwners
)


class Disclosed(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="entry",
    tag="disclosed",
):
    """An entry of the ledger: what was disclosed, and what the nodes sent for it."""

    about: int
    """The number of the objective or of the sealed search."""
    attempt: Attempt
    """The computation that disclosed it; of a plan, the one that left it."""
    request: str
    """The hash of the request, as the nodes log it."""
    payload: Payload
    parts: Parts
    again: bool = False
    """The same once more, since a node failed before it had logged the first."""
    without: int | None = None
    """The node that the others went on without: computed by three, not checked."""
    unchecked: bool = False
    """Computed by all, from a state that three had left: not checked all the way."""

    @property
    def kind(self) -> DisclosureKind:
        return self.payload.kind

    @property
    def number(self) -> int:
        return self.attempt.number

    @property
    def words(self) -> str:
        return in_words(self.kind, self.about, self.number)


def in_words(kind: DisclosureKind, about: int, number: int, /) -> str:
    """Name a disclosure in a sentence.

    >>> in_words(DisclosureKind.LABELS, 0, 7), in_words(DisclosureKind.PLAN, 2, 40)
    ('evaluation 7', 'the plan of search 2')
    """
    match kind:
        case DisclosureKind.LABELS:
            return f"evaluation {number}"
        case DisclosureKind.BEST:
            return "the final reveal of the best plan"
        case DisclosureKind.FRONT:
            return "the final reveal of the front"
        case DisclosureKind.PROVED:
            return f"step {number} of search {about}"
        case DisclosureKind.PLAN | DisclosureKind.OWNERS_PLAN:
            return f"the plan of search {about}"


class HeardBoxes(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="boxes"
):
    """What nodes were bound to when this one released its boxes with a plan for owners."""

    boxes: list[str]
    """Per node the hash of the list of its boxes; empty where it was not heard."""


_READ = msgspec.json.Decoder(Disclosed, dec_hook=decode_attempt)
_ENCODER = msgspec.json.Encoder(order="sorted", enc_hook=encode_attempt)
_MAKE_ROOM = "make room, and start again"


def decode_entry(line: bytes, /) -> Disclosed:
    return _READ.decode(line)


def encode_entry(entry: Disclosed, /) -> bytes:
    return _ENCODER.encode(entry) + b"\n"


class Ledger:
    """A list of entries, appended to a file if one is given. `FileLedger` keeps none in memory."""

    def __init__(self, path: Path | None = None, /) -> None:
        self.entries: list[Disclosed] = []
        self._path = path
        if path is not None:
            with writing(path):
                path.write_bytes(b"")

    def add(self, entry: Disclosed, /) -> None:
        self.entries.append(entry)
        if self._path is not None:
            with writing(self._path, remedy=_MAKE_ROOM), self._path.open("ab") as file:
                file.write(encode_entry(entry))


class FileLedger(Ledger):
    """A ledger in a file alone, which goes on where it ended.

    An answer is kept before anything is made of it: nodes repeat the last evaluation only, so none
    may be lost, not even in a power cut. What is disclosed once is asked for again if it is lost.
    It is kept with what comes next, or by whoever stores it together with its plan: stored alone,
    it would contradict a result that was made of an earlier report.
    """

    def __init__(self, path: Path, /, *, keep: Keep = keep_on_disk) -> None:
        super().__init__()
        self._whole, self._keep, self._is_kept = path, keep, True
        with writing(path):
            self._file = path.open("ab")
            # Half a line is what a crash leaves; its evaluation is asked for again.
            self._file.truncate(path.read_bytes().rfind(b"\n") + 1)

    def add(self, entry: Disclosed, /) -> None:
        self._file.write(encode_entry(entry))
        self._file.flush()
        if entry.kind.is_final:
            self._is_kept = False
        else:
            self.keep()

    def keep(self) -> None:
        """Keep all entries."""
        self._keep(self._whole)
        self._is_kept = True

    def close(self) -> None:
        if not self._is_kept:
            self.keep()
        self._file.close()


def read_ledger(data: bytes, /) -> list[Disclosed]:
    entries = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            entries.append(decode_entry(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise LogError(
                f"line {number} is not a ledger entry ({error}); ask for the whole ledger"
            ) from None
    return entries


def load_ledger(path: Path, /) -> list[Disclosed]:
    try:
        return read_ledger(read_bytes(path))
    except LogError as error:
        raise FileError(path, None, f"is not a ledger ({error})", "give another") from None


PerNode = list[SealedParts | None]
_READ_BOXES = msgspec.msgpack.Decoder(PerNode)


def parts_file(search: int, /) -> str:
    """The name of the file with what each node sealed of a search's plan."""
    return f"parts-{search}.msgpack"


def read_parts(data: bytes, /) -> PerNode:
    """What each node sealed, from such a file."""
    return _READ_BOXES.decode(data)


class PlanParts:
    """Per search what each node sealed; in a folder if one is given, otherwise in memory."""

    def __init__(self, folder: Path | None = None, /, *, keep: Keep = keep_on_disk) -> None:
        self._folder, self._keep = folder, keep
        self._kept: dict[int, PerNode] = {}

    def _path(self, search: int) -> Path | None:
        return None if self._folder is None else self._folder / parts_file(search)

    def keep(self, search: int, sealed: Sequence[SealedParts | None], /) -> None:
        """Keep what nodes released; of a node that is away now, what it released before."""
        before = self.of(search) or [None] * len(sealed)
        # A platform that was killed asks for the plan again, and may hear of other nodes than
        # before.
        merged = [new or old for new, old in zip(sealed, before, strict=True)]
        self._kept[search] = merged
        if (path := self._path(search)) is not None:
            replace_file(path, msgspec.msgpack.encode(merged))
            # Before the ledger's entry, which says that the boxes are here.
            self._keep(path)

    def of(self, search: int, /) -> PerNode | None:
        """Return what each node sealed of a search's plan; None as long as it is not opened."""
        path = self._path(search)
        if search not in self._kept and path is not None and path.exists():
            try:
                found = read_parts(read_bytes(path))
            except msgspec.DecodeError:
                raise FileError(path, None, "holds no boxes", "remove it and resume") from None
            self._kept[search] = found
        return self._kept.get(search)
