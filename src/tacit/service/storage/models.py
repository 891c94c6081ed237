"""Define the tables.

Times are UTC seconds since 1970. Codes and tokens are here only as hashes, inputs only as boxes
that the platform cannot open.
"""

from __future__ import annotations

import base64
import secrets
from typing import Any

import msgspec
from sqlalchemy import (
    JSON,
    BigInteger,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, validates
from sqlalchemy.types import TypeDecorator

from tacit.agreement import SealedRows
from tacit.client import (
    FoundPlans,
    Role,
    RowsState,
    RunProgress,
    RunState,
    RunTerms,
    SeriesTerms,
    SubmissionState,
)

Json = dict[str, Any]
# SQLite counts up only a column whose type is INTEGER, where it has 64 bits anyway. Those of
# PostgreSQL have 32.
CountedUp = BigInteger().with_variant(Integer, "sqlite")


def new_id(prefix: str, /) -> str:
    """A fresh name of a run (`r`), series (`s`) or webhook (`w`).

    It has 50 random bits, so that nobody finds a run of others by counting.
    """
    return f"{prefix}-{base64.b32encode(secrets.token_bytes(7)).decode().lower()[:10]}"


class RecordColumn(TypeDecorator[msgspec.Struct]):
    """A column of JSON that is one of the API's records, in rows as in requests and answers."""

    impl = JSON
    cache_ok = True

    def __init__(self, kind: type[msgspec.Struct]) -> None:
        super().__init__(none_as_null=True)
        self.kind = kind

    def process_result_value(self, value: Any, dialect: Dialect) -> msgspec.Struct | None:  # noqa: ANN401, ARG002
        """Convert what was stored; written is the record itself, by the engine's serializer."""
        return None if value is None else msgspec.convert(value, self.kind)


class Base(DeclarativeBase):
    """The base of all tables."""

    # Constraints have names, since a migration can alter only what it can name.
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class TablesVersion(Base):
    """The version of the tables; one row, where Alembic looks for it if tables ever change."""

    __tablename__ = "alembic_version"

    version_num: Mapped[str] = mapped_column(String(32), primary_key=True)


class Account(Base):
    """Somebody the platform knows; a participant has a signing key as soon as it has joined."""

    __tablename__ = "account"

    name: Mapped[str] = mapped_column(String(63), primary_key=True)
    role: Mapped[Role] = mapped_column(String(16))
    signing_key: Mapped[str | None] = mapped_column(String(64), unique=True)
    created: Mapped[float]


class Invitation(Base):
    """A one-time code, as its hash."""

    __tablename__ = "invitation"

    code_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    account: Mapped[str] = mapped_column(ForeignKey("account.name"), index=True)
    created: Mapped[float]
    expires: Mapped[float]
    used: Mapped[float | None]


class AccessToken(Base):
    """A bearer token of an account, as its hash."""

    __tablename__ = "token"

    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    account: Mapped[str] = mapped_column(ForeignKey("account.name"), index=True)
    created: Mapped[float]
    expires: Mapped[float]
    revoked: Mapped[float | None]
    label: Mapped[str] = mapped_column(String(100))


class StoredSession(Base):
    """A browser that is signed in; the number that opens its token is in the browser alone."""

    __tablename__ = "browser_session"

    number_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    token_hash: Mapped[str] = mapped_column(ForeignKey("token.hash"), index=True)
    sealed_token: Mapped[bytes] = mapped_column(LargeBinary)
    is_kept: Mapped[bool]
    """Whether the visitor has the token too."""
    created: Mapped[float]


class TermsSummary(msgspec.Struct, frozen=True):
    """What the list of runs shows of a run's terms, which can be long."""

    kind: str
    disclosures: list[str]
    participants: int


LAST = 1
"""The sort order of large columns. SQLite keeps a row's columns in order and a long row in a chain
of pages, so that it would read all of them for the columns that come behind."""


class Run(Base):
    """One optimization, from its draft to its end."""

    __tablename__ = "run"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    state: Mapped[RunState] = mapped_column(String(16))
    reason: Mapped[str | None] = mapped_column(Text)
    terms: Mapped[RunTerms] = mapped_column(RecordColumn(RunTerms), sort_order=LAST)
    summary: Mapped[TermsSummary] = mapped_column(RecordColumn(TermsSummary))
    cluster: Mapped[str | None] = mapped_column(String(100))
    agreement: Mapped[bytes | None] = mapped_column(LargeBinary, sort_order=LAST)
    agreement_hash: Mapped[str | None] = mapped_column(String(64))
    nonce: Mapped[str | None] = mapped_column(String(32))
    """Of its agreement, from the first attempt to draft it on: nodes draw their keys for it."""
    created_by: Mapped[str] = mapped_column(ForeignKey("account.name"))
    created: Mapped[float]
    running_since: Mapped[float | None]
    deadline_at: Mapped[float | None]
    ended: Mapped[float | None]
    progress: Mapped[RunProgress | None] = mapped_column(RecordColumn(RunProgress))
    """The last report."""
    result: Mapped[FoundPlans | None] = mapped_column(RecordColumn(FoundPlans), sort_order=LAST)
    warnings: Mapped[list[str]] = mapped_column(JSON)
    troubles: Mapped[list[str]] = mapped_column(JSON, default=list)
    """What keeps it in its state: warnings that end with their cause, or with the state."""
    series: Mapped[str | None] = mapped_column(String(16), index=True)
    """The series that it is a run of."""
    series_number: Mapped[int | None]
    owner: Mapped[str | None] = mapped_column(String(100))
    """The process of the platform that works on it; see `storage/claims.py`."""
    lease_until: Mapped[float | None]
    """Until then it is that one's, which renews it."""
    fence: Mapped[int] = mapped_column(BigInteger, default=0)
    """Higher with each claim."""
    slot_at: Mapped[float | None]
    """When it got its slot last."""
    look_at: Mapped[float | None]
    """When what failed is tried again; None if nothing has."""
    at_nodes: Mapped[bool] = mapped_column(default=False)
    """Whether the nodes have its agreement."""
    work_left: Mapped[bool] = mapped_column(default=True, index=True)
    """False once it is over and its nodes know."""

    # The order of the list: of all runs, and of those with a state, a name or an operator. A search
    # looks through the names in an index alone.
    __table_args__ = (
        Index("ix_run_created", "created", "id", "name"),
        Index("ix_run_state", "state", "created", "id", "name"),
        Index("ix_run_created_by", "created_by", "created", "id", "name"),
        Index("ix_run_name", "name", "created", "id"),
    )

    @validates("terms")
    def _summarize(self, _name: str, terms: RunTerms) -> RunTerms:
        disclosures = list(dict.fromkeys(each.disclosure for each in terms.confidential))
        self.summary = TermsSummary(terms.problem.kind, disclosures, len(terms.participants))
        return terms


class PlatformWorker(Base):
    """A process of the platform that executes runs."""

    __tablename__ = "worker"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    """Its host, its process and some random letters."""
    since: Mapped[float]
    seen: Mapped[float]
    """When it renewed its leases last."""


class StandingSeries(Base):
    """A series of runs, whose rules are signed once."""

    __tablename__ = "series"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), index=True)
    terms: Mapped[SeriesTerms] = mapped_column(RecordColumn(SeriesTerms), sort_order=LAST)
    cluster: Mapped[str] = mapped_column(String(100))
    data: Mapped[bytes | None] = mapped_column(LargeBinary, sort_order=LAST)
    """The bytes that are signed; None until all participants have joined."""
    hash: Mapped[str | None] = mapped_column(String(64))
    created_by: Mapped[str] = mapped_column(ForeignKey("account.name"))
    created: Mapped[float]
    next_at: Mapped[float | None]
    """When the next run starts by itself."""
    ended: Mapped[float | None]
    reason: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (Index("ix_series_created", "created", "id"),)


class SeriesMember(Base):
    """A participant of a series."""

    __tablename__ = "series_member"

    series: Mapped[str] = mapped_column(ForeignKey("series.id"), primary_key=True)
    participant: Mapped[str] = mapped_column(
        ForeignKey("account.name"), primary_key=True, index=True
    )
    position: Mapped[int]
    signature: Mapped[bytes | None] = mapped_column(LargeBinary)
    signed: Mapped[float | None]


class Member(Base):
    """A participant of a run."""

    __tablename__ = "member"

    run: Mapped[str] = mapped_column(ForeignKey("run.id"), primary_key=True)
    participant: Mapped[str] = mapped_column(ForeignKey("account.name"), primary_key=True)
    created: Mapped[float]
    """When the run was: the order in which a participant's own runs are listed."""
    position: Mapped[int]
    """Its place in the agreement's list."""
    rows: Mapped[list[int]] = mapped_column(JSON, sort_order=LAST)
    signature: Mapped[bytes | None] = mapped_column(LargeBinary)
    signed: Mapped[float | None]
    submitted: Mapped[float | None]
    submission_state: Mapped[SubmissionState] = mapped_column(String(16))
    submission_reason: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (Index("ix_member_participant", "participant", "created", "run"),)


class StoredBoxes(Base):
    """A participant's boxes for one objective, as they came."""

    __tablename__ = "sealed"

    run: Mapped[str] = mapped_column(ForeignKey("run.id"), primary_key=True)
    participant: Mapped[str] = mapped_column(ForeignKey("account.name"), primary_key=True)
    objective: Mapped[int] = mapped_column(primary_key=True)
    manifest: Mapped[bytes] = mapped_column(LargeBinary)
    signature: Mapped[bytes] = mapped_column(LargeBinary)
    box0: Mapped[bytes] = mapped_column(LargeBinary)
    box1: Mapped[bytes] = mapped_column(LargeBinary)
    box2: Mapped[bytes] = mapped_column(LargeBinary)
    box3: Mapped[bytes | None] = mapped_column(LargeBinary)
    """None where there are three nodes."""
    state: Mapped[RowsState] = mapped_column(String(16))
    """waiting, accepted or refused."""
    reason: Mapped[str | None] = mapped_column(Text)

    @property
    def boxes(self) -> tuple[bytes, ...]:
        """One box per node."""
        first = (self.box0, self.box1, self.box2)
        return first if self.box3 is None else (*first, self.box3)

    @property
    def rows(self) -> SealedRows:
        """The boxes in the form that nodes accept."""
        return SealedRows(self.boxes, self.manifest, self.signature)

    @property
    def key(self) -> tuple[str, int, bytes]:
        """The identity of these boxes among all those of a run."""
        return self.participant, self.objective, self.manifest


class RunFile(Base):
    """A piece of a file that the process of a run writes, such as an entry of its ledger."""

    __tablename__ = "run_file"

    run: Mapped[str] = mapped_column(ForeignKey("run.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    offset: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    """Where in the file it begins."""
    data: Mapped[bytes] = mapped_column(LargeBinary)


class Event(Base):
    """Something that happened to a run, for those who watch it."""

    __tablename__ = "event"

    id: Mapped[int] = mapped_column(CountedUp, primary_key=True, autoincrement=True)
    run: Mapped[str] = mapped_column(ForeignKey("run.id"))
    at: Mapped[float]
    kind: Mapped[str] = mapped_column(String(16))
    """state, member, progress or warning."""
    data: Mapped[Json] = mapped_column(JSON)

    # SQLite would otherwise use the highest numbers again after they were deleted, and watchers go
    # on from the highest number that they have seen.
    __table_args__ = (Index("ix_event_run_id", "run", "id"), {"sqlite_autoincrement": True})


class Contact(Base):
    """The mail address at which an account is notified."""

    __tablename__ = "contact"

    account: Mapped[str] = mapped_column(ForeignKey("account.name"), primary_key=True)
    mail: Mapped[str] = mapped_column(String(254))


class Webhook(Base):
    """An address of an account that is called; its secret follows from its id and is not here."""

    __tablename__ = "webhook"

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    account: Mapped[str] = mapped_column(ForeignKey("account.name"), index=True)
    url: Mapped[str] = mapped_column(Text)
    created: Mapped[float]
    error: Mapped[str | None] = mapped_column(Text)
    """Why the last delivery failed; None if it did not."""


class Notice(Base):
    """A notification for an account, to be delivered by mail or to a webhook."""

    __tablename__ = "notice"

    id: Mapped[int] = mapped_column(CountedUp, primary_key=True, autoincrement=True)
    account: Mapped[str] = mapped_column(ForeignKey("account.name"))
    webhook: Mapped[str | None] = mapped_column(String(16))
    """None: by mail."""
    kind: Mapped[str] = mapped_column(String(24))
    at: Mapped[float]
    data: Mapped[Json] = mapped_column(JSON)
    attempts: Mapped[int]
    next_at: Mapped[float | None] = mapped_column(index=True)
    """When it is tried next; None once it was delivered or given up."""
    sent: Mapped[float | None]
    error: Mapped[str | None] = mapped_column(Text)

    # Receivers know a repeated notice by its number, so no number is used twice.
    __table_args__ = ({"sqlite_autoincrement": True},)


class NoticeCursor(Base):
    """Up to which event notices were made; one row."""

    __tablename__ = "notice_cursor"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    event: Mapped[int] = mapped_column(BigInteger)
