"""A series: what everybody signs once, so that a run of it needs nobody's reading any more.

It is canonical JSON like an agreement, and named by the SHA-256 of that. It has a pattern, which is
what a run looks like if nothing varies, and says what may vary and how far. Each run is still an
agreement of its own, signed by all its participants; their machines do that by themselves after
they have compared it with the series, and so do the nodes.

Every node and every participant keeps a record of the runs that it took, and decides by its own
record and its own clock: a platform that replays a run, uses a number twice, goes back to an
earlier one or starts runs more often than was signed needs all of them to have forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.signatures import check_all_signed, sign
from tacit.agreement.sizes import MOST_PARTICIPANTS, check_agreement_bytes
from tacit.agreement.terms import FORMAT as AGREEMENT_FORMAT
from tacit.agreement.terms import (
    AgreedRules,
    Agreement,
    AgreementLimits,
    NodeTerms,
    ObjectiveTerms,
    Ownership,
    ParticipantTerms,
    PublicProblem,
    canonical,
)
from tacit.equity import FIRST_HEAD, EquityTerms, RunEquity
from tacit.errors import AgreementError, FileError
from tacit.files import other_version, replace_secret, writing

FORMAT: Literal["tacit-series/1"] = "tacit-series/1"
Part = Literal["rows", "columns", "forbidden", "data"]
TimeOfDay = Annotated[str, msgspec.Meta(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")]


class _SeriesPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all parts of a series have in common: immutable, and no field that we ignore."""


class SeriesNode(_SeriesPart, frozen=True):
    """A node by its address and long-lived key; the key that is sealed to is new in each run.

    Its certificate may be renewed: only nodes and platform need it, and they know it themselves.
    """

    host: str
    port: int
    signing_key: str


class Varying(_SeriesPart, frozen=True, kw_only=True):
    """What may be different from the pattern in a run, and how far.

    The least sizes are there because little hides in a small problem: in one with few plans, or
    where most pairs are forbidden, the same disclosure tells far more of each cost.
    """

    parts: list[Part]
    """`rows` with their names and owners, `columns` with their names, `forbidden` pairs, and the
    `data` of the kind, in this order."""
    least_rows: int
    most_rows: int
    least_columns: int
    most_columns: int
    least_allowed: int
    """Columns that every row may take."""
    most_mask_changes: int
    """Pairs of each row that may be forbidden in a run and not in the pattern, or the other way
    round. A plan under another mask tells what a row would have taken instead."""
    least_each: int = 1
    """Rows of every participant of a run."""
    least_participants: int
    """Of those who signed the series, so many take part in every run."""

    @property
    def mask_part(self) -> float:
        """Return the part of a row's pairs by which a mask may differ from the pattern's."""
        return min(1.0, self.most_mask_changes / self.least_columns)

    @property
    def size_part(self) -> float:
        """Return the part of rows or columns that a run may leave out."""
        sides = (self.least_rows, self.most_rows), (self.least_columns, self.most_columns)
        return 1 - min(least / most for least, most in sides)


class SeriesLimits(_SeriesPart, frozen=True, kw_only=True):
    """What holds for every run, and for all runs together."""

    evaluations: int
    """Of a run, at most."""
    population_min: int
    population_max: int
    distinct_min: int
    run_hours: float
    """So long the agreement of a run is valid at most, from when it is signed."""
    deadline_seconds: float
    """So long a run takes at most; nodes do not know when one is due, so it is the platform's word
    that participants' machines compare with this."""
    runs_per_day: int
    """In any 23.5 hours (`PACE_SECONDS`); every plan tells something, and plans add up."""
    expires: int
    """Seconds since 1970; from then on there are no runs."""


class SeriesSchedule(_SeriesPart, frozen=True):
    """When the platform starts runs by itself: every so many minutes, or at times of day (UTC)."""

    every_minutes: int = 0
    at: list[TimeOfDay] = []


class Series(AgreedRules, frozen=True, dict=True, kw_only=True, omit_defaults=True):
    """Everything that holds for all runs."""

    format: Literal["tacit-series/1"]
    name: str
    problem: PublicProblem
    """The pattern: whatever does not vary is in every run as it is here."""
    owners: list[Ownership]
    """Of the pattern's rows."""
    participants: list[ParticipantTerms]
    nodes: list[SeriesNode]
    objectives: list[ObjectiveTerms]
    """Without their owners and without public weights, which are those of a run."""
    limits: SeriesLimits
    varying: Varying
    schedule: SeriesSchedule | None = None
    equity: EquityTerms | None = None
    """Where those count for more who are behind over the runs; see docs/equity.md."""
    nonce: str

    @cached_property
    def digest(self) -> bytes:
        return hashlib.sha256(canonical(self)).digest()

    def pattern(self) -> Agreement:
        """Return a run in which nothing varies, with keys of nodes that nobody has drawn."""
        return Agreement(
            format=AGREEMENT_FORMAT,
            problem=self.problem,
            participants=self.participants,
            nodes=[
                # All different, since parties that share a key are refused.
                NodeTerms(each.host, each.port, each.signing_key, f"{i:064x}", f"{i:064x}", "")
                for i, each in enumerate(self.nodes, start=1)
            ],
            objectives=[
                msgspec.structs.replace(
                    each,
                    owners=self.owners if each.confidential else [],
                    public_weights=None if each.confidential else f"{0:064x}",
                )
                for each in self.objectives
            ],
            limits=AgreementLimits(
                self.limits.evaluations,
                self.limits.population_min,
                self.limits.population_max,
                self.limits.distinct_min,
                self.limits.expires,
            ),
            nonce=self.nonce,
            **self.rules(),
            equity=None
            if self.equity is None
            else RunEquity(terms=self.equity, head=FIRST_HEAD, reference=[]),
        )


_READ_SERIES = msgspec.json.Decoder(Series)


def series_hash(series: Series, /) -> str:
    """Return the hash that names a series, as its runs write it."""
    return series.digest.hex()


def read_series(data: bytes, /) -> Series:
    """Read a series, which must be in its one canonical form."""
    try:
        series = _READ_SERIES.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        other = other_version(data, FORMAT)
        what = f"the series {other}" if other else f"this is not a valid series ({error})"
        raise AgreementError(f"{what}; draw it up again") from None
    if canonical(series) != data:
        raise AgreementError("the series is not in canonical form; sort keys, leave out spaces")
    return series


@dataclass(frozen=True)
class SignedSeries:
    """A series as it is carried: its canonical bytes and the signatures by participant."""

    data: bytes
    signatures: Mapping[str, bytes]


class _Parties(msgspec.Struct, frozen=True):
    """Of a series, who must have signed it; the rest is passed over."""

    participants: list[ParticipantTerms]


_READ_PARTIES = msgspec.json.Decoder(_Parties)


def sign_series(series: Series, key: Ed25519PrivateKey, /) -> bytes:
    """Sign a series; the signature never counts for an agreement."""
    return sign(key, "series", series.digest)


def check_series_signed(signed: SignedSeries, /) -> None:
    """Refuse a series that not all of its participants signed, before more of it is read."""
    # Signatures first, from the little that names the signers: reading a series takes time and
    # memory, which a stranger must not cause.
    check_agreement_bytes(len(signed.data))
    try:
        parties = _READ_PARTIES.decode(signed.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AgreementError(f"this is not a valid series ({error}); draw it up again") from None
    if not 1 <= len(parties.participants) <= MOST_PARTICIPANTS:
        raise AgreementError(
            f"the series names {len(parties.participants)} participants; nodes take 1 to "
            f"{MOST_PARTICIPANTS}"
        )
    digest = hashlib.sha256(signed.data).digest()
    check_all_signed(parties.participants, digest, signed.signatures, purpose="series")


DAY = 86400.0
PACE_SECONDS = DAY - 1800.0
"""Runs of a day are counted in any so long a time. In 24 hours a run that is due every day would be
too many whenever it is taken a second earlier than the day before; it may be half an hour."""
KEEP_SECONDS = 8 * DAY
"""More than the agreement of a run is valid for."""


class TakenRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run that was signed, or taken by a node."""

    number: int
    agreement: str
    """Its hash, in hexadecimal."""
    at: float
    """Seconds since 1970, by the clock of whoever writes it down."""
    run: str = ""
    """What the platform calls it, where that is known."""


_READ_RUN = msgspec.json.Decoder(TakenRun)


def objection_to_run(taken: Sequence[TakenRun], new: TakenRun, /) -> str | None:
    """Why a run never follows those that were taken; None if it may, or was taken before.

    >>> first = TakenRun(1, "aa", 0.0)
    >>> objection_to_run([first], TakenRun(1, "bb", 9.0))
    'number 1 of the series was used for another run'
    >>> objection_to_run([first], TakenRun(2, "bb", 9.0))
    """
    for each in taken:
        if each.agreement == new.agreement:
            again = each.run != new.run
            return "the same run was taken under another name before" if again else None
    # Gaps are allowed, since runs may never start. Going back is not: it would replay an earlier
    # day.
    last = max((each.number for each in taken), default=0)
    if any(each.number == new.number for each in taken):
        return f"number {new.number} of the series was used for another run"
    if new.number < last:
        return f"run {last} of the series was taken already, and runs follow each other"
    return None


def objection_to_pace(
    taken: Sequence[TakenRun], new: TakenRun, /, *, runs_per_day: int
) -> str | None:
    """Why a run comes too soon after others; None if it does not, or was taken before.

    >>> first = TakenRun(1, "aa", 0.0)
    >>> objection_to_pace([first], TakenRun(2, "bb", 9.0), runs_per_day=1)
    '1 runs of the series were taken in the last 23.5 hours, and no more were agreed on'
    >>> objection_to_pace([first], TakenRun(2, "bb", 86390.0), runs_per_day=1)
    """
    # A run that is handed in again after a crash is the same run, and takes no further place.
    if any(each.agreement == new.agreement for each in taken):
        return None
    recent = sum(each.at > new.at - PACE_SECONDS for each in taken)
    if recent >= runs_per_day:
        return (
            f"{recent} runs of the series were taken in the last {PACE_SECONDS / 3600:g} hours, "
            "and no more were agreed on"
        )
    return None


class RunRecord:
    """A file with one line per run, whole or not at all."""

    def __init__(self, path: Path, /) -> None:
        self._path = path

    def runs(self) -> list[TakenRun]:
        """Return the runs of the last days and the last one, the oldest first."""
        if not self._path.exists():
            return []
        try:
            lines = self._path.read_bytes().splitlines()
            return [_READ_RUN.decode(line) for line in lines]
        except msgspec.DecodeError as error:
            remedy = "restore it from a backup, or sign a new series"
            raise FileError(self._path, None, f"was changed ({error})", remedy) from None

    def add(self, new: TakenRun, /) -> None:
        """Write a run down for good, once, however often it is taken."""
        # A line is on the disk before the run counts. One that a crash could take would let its
        # number be used again.
        known = self.runs()
        if any(each.agreement == new.agreement for each in known):
            return
        # The agreement of an older run has expired, and its number is below the last.
        kept = [each for each in known if each.at > new.at - KEEP_SECONDS]
        data = b"".join(msgspec.json.encode(each) + b"\n" for each in [*kept, new])
        with writing(self._path, remedy="make room"):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_secret(self._path, data)
