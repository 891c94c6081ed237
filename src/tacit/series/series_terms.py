"""A series: what everybody signs once, so that a run of it needs nobody's reading any more.

It is canonical JSON like an agreement, and named by the SHA-256 of that. It has a pattern, which is
what a run looks like if nothing varies, and says what may vary and how far. Each run is still an
agreement of its own, signed by all its participants; their machines do that by themselves after
they have compared it with the series, and so do the nodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.signatures import check_all_signed, sign
from tacit.agreement.size_limits import MOST_PARTICIPANTS, check_agreement_bytes
from tacit.agreement.terms import FORMAT as AGREEMENT_FORMAT
from tacit.agreement.terms import (
    Agreement,
    AgreementLimits,
    FrontReveal,
    NodeTerms,
    ObjectiveTerms,
    OnLoss,
    Ownership,
    ParticipantTerms,
    PinnedSearch,
    PlanFor,
    PublicProblem,
    canonical,
)
from tacit.equity import FIRST_HEAD, EquityTerms, RunEquity
from tacit.errors import AgreementError
from tacit.files import other_version

FORMAT: Literal["tacit-series/1"] = "tacit-series/1"
Part = Literal["rows", "columns", "forbidden", "data"]
TimeOfDay = Annotated[str, msgspec.Meta(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all parts of a series have in common: immutable, and no field that we ignore."""


class SeriesNode(_Part, frozen=True):
    """A node by its address and long-lived key; the key that is sealed to is new in each run.

    Its certificate may be renewed: only nodes and platform need it, and they know it themselves.
    """

    host: str
    port: int
    signing_key: str


class Varying(_Part, frozen=True, kw_only=True):
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
    least_allowed: int = 1
    """Columns that every row may take."""
    least_each: int = 1
    """Rows of every participant of a run."""
    least_participants: int
    """Of those who signed the series, so many take part in every run."""


class SeriesLimits(_Part, frozen=True, kw_only=True):
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


class Schedule(_Part, frozen=True):
    """When the platform starts runs by itself: every so many minutes, or at times of day (UTC)."""

    every_minutes: int = 0
    at: list[TimeOfDay] = []


class Series(_Part, frozen=True, dict=True, kw_only=True):
    """Everything that holds for all runs."""

    format: Literal["tacit-series/1"]
    name: str
    problem: PublicProblem
    """The pattern: whatever does not vary is in every run as it is here."""
    owners: list[Ownership]
    """Of the pattern's rows."""
    participants: list[ParticipantTerms]
    nodes: list[SeriesNode]
    platform: str
    """The SHA-256 of the platform's TLS certificate."""
    objectives: list[ObjectiveTerms]
    """Without their owners and without public weights, which are those of a run."""
    search: PinnedSearch
    limits: SeriesLimits
    varying: Varying
    reveal_best: bool
    on_loss: OnLoss = "wait"
    grace_seconds: float = 1.0
    plan: PlanFor = "everybody"
    front: FrontReveal = "nothing"
    schedule: Schedule | None = None
    equity: EquityTerms | None = None
    """Where those count for more who are behind over the runs; see docs/equity.md."""
    nonce: str

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 that names it."""
        return hashlib.sha256(canonical(self)).digest()

    def pattern(self) -> Agreement:
        """A run if nothing varies, with keys of nodes that nobody has drawn."""
        return Agreement(
            format=AGREEMENT_FORMAT,
            problem=self.problem,
            participants=self.participants,
            nodes=[
                NodeTerms(each.host, each.port, each.signing_key, f"{i:064x}", f"{i:064x}", "")
                for i, each in enumerate(self.nodes, start=1)
            ],
            platform=self.platform,
            objectives=[
                msgspec.structs.replace(
                    each,
                    owners=self.owners if each.confidential else [],
                    public_weights=None if each.confidential else f"{0:064x}",
                )
                for each in self.objectives
            ],
            search=self.search,
            limits=AgreementLimits(
                self.limits.evaluations,
                self.limits.population_min,
                self.limits.population_max,
                self.limits.distinct_min,
                self.limits.expires,
            ),
            reveal_best=self.reveal_best,
            nonce=self.nonce,
            on_loss=self.on_loss,
            grace_seconds=self.grace_seconds,
            plan=self.plan,
            front=self.front,
            equity=None
            if self.equity is None
            else RunEquity(terms=self.equity, head=FIRST_HEAD, reference=[]),
        )


_READ = msgspec.json.Decoder(Series)


def series_hash(series: Series, /) -> str:
    """The SHA-256 that names a series, in hexadecimal, as its runs write it."""
    return series.digest.hex()


def read_series(data: bytes, /) -> Series:
    """Read a series, which must be in its one canonical form."""
    try:
        series = _READ.decode(data)
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
    """A participant's signature under a series; never one under an agreement."""
    return sign(key, "series", series.digest)


def check_series_signed(signed: SignedSeries, /) -> None:
    """Refuse a series that not all of its participants signed, before anything else is read."""
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
