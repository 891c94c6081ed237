"""Back up a platform into one file, and restore it into an empty place.

::

    tacit-backup/1
    gzip of records, each with its length before it:
        BackupHeader, FilePiece ..., TableRows ..., LastNumber ..., FilePiece ..., BackupEnd

The tables are as at one moment, also while the platform runs, and are the same from SQLite and from
PostgreSQL, so that a backup moves a platform from one to the other. The files of the data folder
come after the tables: what a run has disclosed since is then in them, and not the other way round.
"""

from __future__ import annotations

import gzip
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
from sqlalchemy import (
    JSON,
    Connection,
    Table,
    delete,
    func,
    insert,
    inspect,
    select,
    text,
    type_coerce,
)
from sqlalchemy.orm import Session

import tacit
from tacit.errors import FileError, InputError
from tacit.files import other_version, writing
from tacit.identity import AUTHORITY_FILE, beside, load_cluster_config
from tacit.service.server.settings import FILE_NAME, WEBHOOKS_KEY, Settings, load_settings
from tacit.service.storage import Database
from tacit.service.storage.database import SQLITE, TABLES_VERSION
from tacit.service.storage.models import Base, NoticeCursor, RecordColumn, TablesVersion

FORMAT = "tacit-backup/1"
ROWS_AT_ONCE = 20
"""A row may have a participant's boxes, of many megabytes."""
PIECE_BYTES = 1 << 20
LONGEST_RECORD = 1 << 30
JUMP = 1_000_000
"""Numbers that a restored platform leaves out. The one that was lost may have used them after the
backup, and whoever has seen them takes a second one of the same number for a repetition."""
OF_THE_MOMENT = {"browser_session", "worker"}
"""Tables that are in no backup: who is signed in to the dashboard, and which processes run."""
Root = Literal["config", "data", "elsewhere"]


class BackupHeader(msgspec.Struct, frozen=True, tag="header"):
    """Of which platform a backup is."""

    url: str
    version: str
    tables: str
    created: float


class FilePiece(msgspec.Struct, frozen=True, tag="file"):
    """A part of a file, in order; the first makes it."""

    root: Root
    """What the path is relative to: the folder of service.toml, or the data folder."""
    path: str
    mode: int
    begins: bool
    data: bytes


class TableRows(msgspec.Struct, frozen=True, tag="rows"):
    """Rows of a table."""

    table: str
    columns: list[str]
    rows: list[list[Any]]


class LastNumber(msgspec.Struct, frozen=True, tag="last"):
    """The highest number that a table has given to a row, which may be deleted by now."""

    table: str
    number: int


class BackupEnd(msgspec.Struct, frozen=True, tag="end"):
    """Nothing is missing before it."""

    records: int


BackupRecord = BackupHeader | FilePiece | TableRows | LastNumber | BackupEnd
_READ = msgspec.msgpack.Decoder(BackupRecord)


def back_up(settings: Settings, config: Path, out: BinaryIO, /) -> None:
    """Write everything that a platform is made of; it may run meanwhile."""
    out.write(f"{FORMAT}\n".encode())
    # Most of it is sealed boxes, which do not get any smaller.
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as packed:
        count = 0
        for record in _records(settings, config):
            _write(packed, record)
            count += 1
        _write(packed, BackupEnd(count))


def _write(packed: gzip.GzipFile, record: BackupRecord) -> None:
    data = msgspec.msgpack.encode(record)
    packed.write(len(data).to_bytes(4, "big") + data)


def _records(settings: Settings, config: Path) -> Iterator[BackupRecord]:
    yield BackupHeader(settings.url, tacit.__version__, TABLES_VERSION, time.time())
    yield from _pieces(config, "config", FILE_NAME)
    for name in config_files(settings):
        # A path that begins at the root is restored there: the restored service.toml names it too.
        root: Root = "elsewhere" if Path(name).is_absolute() else "config"
        yield from _pieces(settings.place(name), root, name)
    url = settings.database_url
    if url.startswith(SQLITE) and not Path(url.removeprefix(SQLITE)).exists():
        raise InputError(f"there is no database {url.removeprefix(SQLITE)} to back up")
    with closing(Database(url)) as database, database.reading() as session:
        yield from _tables(session)
    for path in sorted(settings.data_folder.rglob("*")):
        # Drafts of files have names with a dot, and locks are of whoever runs.
        if path.is_file() and not path.name.startswith(".") and not _is_of_a_process(path):
            relative = str(path.relative_to(settings.data_folder))
            yield from _pieces(path, "data", relative)


def config_files(settings: Settings, /) -> list[str]:
    """The paths of all files that `service.toml` names, as it and those of clusters name them."""
    named = [settings.tls_certificate, settings.tls_key, settings.webhooks_ca]
    if settings.mail is not None:
        named += [settings.mail.password_file, settings.mail.ca]
    found = [Path(WEBHOOKS_KEY), *(Path(each) for each in named if each is not None)]
    if settings.tls_certificate is not None and settings.tls_key is not None:
        found += [Path(settings.tls_certificate).with_name(AUTHORITY_FILE)]
        # The keys of a rotation that is under way.
        found += [beside(Path(settings.tls_key), "next")]
    for cluster in settings.cluster:
        file = Path(cluster.file)
        nodes = load_cluster_config(settings.place(cluster.file))
        pinned = [nodes.certificate, nodes.tls_key, *(each.certificate for each in nodes.nodes)]
        found += [file, *(file.parent / each for each in pinned)]
        found += [beside(file.parent / nodes.tls_key, "next")]
    return [str(path) for path in dict.fromkeys(found)]


def _pieces(path: Path, root: Root, name: str) -> Iterator[FilePiece]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return  # it was replaced or removed just now
    with file:
        mode, data, begins = stat.S_IMODE(path.stat().st_mode), file.read(PIECE_BYTES), True
        while begins or data:
            yield FilePiece(root, name, mode, begins, data)
            data, begins = file.read(PIECE_BYTES), False


def _is_of_a_process(path: Path) -> bool:
    return path.suffix == ".lock" or path.name == "lock" or path.suffix.startswith(".db")


# Tables.


def _tables(session: Session) -> Iterator[TableRows | LastNumber]:
    connection = _one_state(session)
    for table in Base.metadata.sorted_tables:
        name = str(table.name)  # SQLAlchemy's own kind of text, which is not written
        if name in OF_THE_MOMENT:
            continue
        # As they are stored, without the checks of their records.
        columns = [
            type_coerce(each, JSON()) if isinstance(each.type, RecordColumn) else each
            for each in table.columns
        ]
        names = [str(each.name) for each in table.columns]
        found = connection.execute(select(*columns), execution_options={"yield_per": ROWS_AT_ONCE})
        for rows in found.partitions():
            yield TableRows(name, names, [list(row) for row in rows])
        if table.autoincrement_column is not None:
            yield LastNumber(name, _last_number(connection, table))


def _one_state(session: Session) -> Connection:
    """A connection whose statements all see the database as it was at the first of them."""
    dialect = session.get_bind().dialect.name
    level = {"isolation_level": "REPEATABLE READ"} if dialect == "postgresql" else {}
    return session.connection(execution_options=level)


def _last_number(connection: Connection, table: Table) -> int:
    column = table.autoincrement_column
    assert column is not None
    highest = connection.scalar(select(func.max(column))) or 0
    if connection.dialect.name == "postgresql":
        named = text("SELECT pg_get_serial_sequence(:table, :column)")
        sequence = connection.scalar(named, {"table": table.name, "column": column.name})
        given = connection.scalar(text(f"SELECT last_value FROM {sequence}"))
    else:
        # It is there as soon as a table counts in it.
        known = inspect(connection).has_table("sqlite_sequence")
        asked = text("SELECT seq FROM sqlite_sequence WHERE name = :table")
        given = connection.scalar(asked, {"table": table.name}) if known else None
    return max(highest, given or 0)


def _jump(connection: Connection, table: Table, number: int) -> None:
    """Have the rows of a table numbered from well after a number on."""
    column = table.autoincrement_column
    assert column is not None
    if connection.dialect.name == "postgresql":
        named = "pg_get_serial_sequence(:table, :column)"
        asked = {"table": table.name, "column": column.name, "number": number + JUMP}
        connection.execute(text(f"SELECT setval({named}, :number)"), asked)
    elif table.dialect_options["sqlite"]["autoincrement"]:
        asked = {"table": table.name, "number": number + JUMP}
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), asked)
        connection.execute(text("INSERT INTO sqlite_sequence VALUES (:table, :number)"), asked)


# Restoring.


def restore(
    file: BinaryIO,
    folder: Path,
    /,
    *,
    name: str = "the backup",
    database: str | None = None,
    data: Path | None = None,
) -> Path:
    """Make a platform of a backup in an empty folder, and return its service.toml.

    `database` is another URL, `data` another place for what the platform stores; otherwise both are
    where they were. What is there already is never overwritten. Whoever made the backup chooses the
    places of files, so it is to be trusted as `service.toml` is.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; give a new folder")
    records = read_backup(file, name=name)
    header = next(records, None)
    if not isinstance(header, BackupHeader) or header.tables != TABLES_VERSION:
        raise InputError(f"{name} is of another version of tacit; restore it with that one")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    config, first = folder / FILE_NAME, None
    # All files of the configuration come before the first row.
    for first in records:
        if not isinstance(first, FilePiece):
            break
        _put(first, folder)
    if first is None or not config.exists():
        raise InputError(f"{name} has no {FILE_NAME}; it is no backup of a platform")
    settings = _moved(config, database=database, data=data)
    with writing(settings.data_folder):
        settings.data_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _load(settings, [first], records)
    return config


def read_backup(file: BinaryIO, /, *, name: str) -> Iterator[BackupRecord]:
    """Yield the records of a backup; what is cut off or damaged is an error, at the latest last."""
    first = file.readline(80)
    if first != f"{FORMAT}\n".encode():
        what = other_version(first, FORMAT) or "is no backup of a platform"
        raise FileError(name, None, what, "give a file of tacit service backup")
    count = 0
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as packed:
            while True:
                size = int.from_bytes(packed.read(4), "big")
                data = packed.read(size) if 0 < size <= LONGEST_RECORD else b""
                record: BackupRecord = _READ.decode(data)
                if isinstance(record, BackupEnd):
                    break
                count += 1
                yield record
            is_whole = record.records == count and packed.read(1) == b""
    except (OSError, EOFError, msgspec.DecodeError, gzip.zlib.error) as error:  # type: ignore[attr-defined]
        raise FileError(name, None, f"is damaged ({error})", "take another backup") from None
    if not is_whole:
        raise FileError(name, None, "is damaged", "take another backup")


def _put(piece: FilePiece, base: Path) -> None:
    path = base / piece.path
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if piece.begins:
            if piece.root == "elsewhere" and path.exists() and path.read_bytes() == piece.data:
                return  # it is shared with others, such as the nodes of a trial
            path.touch(mode=piece.mode, exist_ok=False)
            path.chmod(piece.mode | stat.S_IWUSR)
        with path.open("ab") as file:
            file.write(piece.data)


def _moved(config: Path, *, database: str | None, data: Path | None) -> Settings:
    """The settings of a restored file, after it was told of other places."""
    changes: dict[str, str] = {}
    if data is not None:
        place = data.absolute()
        changes |= {"data": str(place / "data"), "database": f"{SQLITE}{place / 'tacit.db'}"}
    if database is not None:
        changes["database"] = database
    lines = config.read_text().splitlines(keepends=True)
    for key, value in changes.items():
        new = f"{key} = {msgspec.json.encode(value).decode()}\n"
        where = [i for i, line in enumerate(lines) if line.partition("=")[0].strip() == key]
        if where:
            lines[where[0]] = new
        else:
            lines.insert(0, new)
    config.write_text("".join(lines))
    return load_settings(config)


def _load(settings: Settings, first: Iterable[BackupRecord], rest: Iterable[BackupRecord]) -> None:
    """Fill the tables and the data folder, or leave the tables as empty as they were."""
    tables = Base.metadata.tables
    with closing(Database(settings.database_url)) as database, database.writing() as session:
        connection = session.connection()
        _check_empty(connection)
        for records in (first, rest):
            for record in records:
                if isinstance(record, TableRows):
                    rows = [dict(zip(record.columns, row, strict=True)) for row in record.rows]
                    connection.execute(insert(tables[record.table]), rows)
                elif isinstance(record, LastNumber):
                    _jump(connection, tables[record.table], record.number)
                elif isinstance(record, FilePiece):
                    _put(record, settings.data_folder)


def _check_empty(connection: Connection) -> None:
    made = {TablesVersion.__tablename__, NoticeCursor.__tablename__}
    for table in reversed(Base.metadata.sorted_tables):
        if table.name in made:
            connection.execute(delete(table))
        elif connection.scalar(select(func.count()).select_from(table)):
            raise InputError("the database is not empty; restore into a new one")
