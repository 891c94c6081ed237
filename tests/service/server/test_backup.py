"""Backups: everything of a platform in one file, from which another begins."""

from __future__ import annotations

import shutil
import stat
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from tacit.errors import FileError, InputError
from tacit.identity.cluster import write_cluster
from tacit.service.access.credentials import issue_token
from tacit.service.notices.delivery import webhook_key
from tacit.service.server.app import make_app
from tacit.service.server.backup import JUMP, OF_THE_MOMENT, TableRows, _records, back_up, restore
from tacit.service.server.settings import Settings, load_settings
from tacit.service.storage import Database, Event, Notice, create_account
from tacit.service.storage.accounts import add_notice, set_contact
from tacit.service.storage.events import add_event
from tacit.service.storage.models import Base
from tests.service.postgres import new_database
from tests.service.stand_in import StandIn
from tests.service.world import World, opened
from tests.support.command_line import commands_here
from tests.support.platform import generous
from tests.support.repository import ROOT

PEOPLE = ("op", "eye", "north", "south")


@pytest.fixture
def backed_up(tmp_path: Path) -> tuple[Settings, World]:
    """A platform that keeps all its files in one folder, with something in every table."""
    nodes = write_cluster(
        tmp_path / "platform" / "cluster", [f"127.0.0.1:{9 + i}" for i in (1, 2, 3)]
    )
    settings = generous(tmp_path / "platform", nodes[-1])
    with opened(make_app(settings, execution=StandIn)) as world:
        world.add("op", "operator")
        world.add("eye", "viewer")
        world.agreed_series()
        run = world.ended(name="ended")
        world.ok("POST", "/me/webhooks", "op", json={"url": "https://hooks.example.org/x"})
        with world.platform.database.writing() as session:
            set_contact(session, "op", "op@example.org")
            add_notice(session, "op", "finished", 1.0, {"run": run})
    return settings, world  # with its people's tokens and keys; nobody delivers notices meanwhile


def contents(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, in an order of their own."""
    with closing(Database(url)) as database, database.reading() as session:
        return {
            table.name: sorted((tuple(row) for row in session.execute(select(table))), key=repr)
            for table in Base.metadata.sorted_tables
            if table.name not in OF_THE_MOMENT
        }


def dump(settings: Settings) -> BytesIO:
    out = BytesIO()
    back_up(settings, Path(settings.folder) / "service.toml", out)
    out.seek(0)
    return out


def test_a_platform_goes_on_from_its_backup(
    backed_up: tuple[Settings, World], tmp_path: Path
) -> None:
    settings, world = backed_up
    before = contents(settings.database_url)
    assert sum(map(bool, before.values())) >= 13, "a table without rows shows nothing"
    ledger = settings.data_folder / "some" / "file"
    ledger.parent.mkdir(parents=True)
    ledger.write_bytes(bytes(3 << 20))
    config = restore(dump(settings), tmp_path / "restored")
    restored = load_settings(config)
    assert contents(restored.database_url) == before
    assert (restored.data_folder / "some" / "file").read_bytes() == bytes(3 << 20)
    assert webhook_key(restored) == webhook_key(settings)
    for path in (tmp_path / "platform").rglob("*"):
        again = tmp_path / "restored" / path.relative_to(tmp_path / "platform")
        if path.suffix in (".key", ".pem", ".toml") and "node-" not in path.name:
            assert again.read_bytes() == path.read_bytes()
            assert stat.S_IMODE(again.stat().st_mode) == stat.S_IMODE(path.stat().st_mode)
    # The stand-in draws the nodes' offers; a platform has no keys of nodes, nor its backup.
    for key in (tmp_path / "platform" / "cluster").glob("node-*.key"):
        assert not (tmp_path / "restored" / "cluster" / key.name).exists()
        shutil.copy(key, tmp_path / "restored" / "cluster")
    app = make_app(restored, execution=StandIn)
    with opened(app) as after:
        after.tokens, after.keys = world.tokens, world.keys
        for name in PEOPLE:
            assert after.ok("GET", "/me", name)["account"] == name
        run = after.submitted(name="the next")
        after.run_to(run, "finished")


def numbers(url: str) -> list[int]:
    """The numbers of the next event and the next notice."""
    newest = [select(table.id).order_by(table.id.desc()).limit(1) for table in (Event, Notice)]
    with closing(Database(url)) as database:
        with database.writing() as session:
            run = session.scalars(select(Event.run)).first()
            assert run is not None
            add_event(session, run, "warning", {"what": "x"})
            add_notice(session, "op", "finished", 1.0, {"run": run})
        with database.reading() as session:
            return [session.scalars(query).one() for query in newest]


@pytest.mark.processes
def test_a_backup_moves_a_platform_to_postgresql_and_back(
    backed_up: tuple[Settings, World], postgres_server: str, tmp_path: Path
) -> None:
    settings, _ = backed_up
    before = contents(settings.database_url)
    url = new_database(postgres_server)
    there = load_settings(restore(dump(settings), tmp_path / "there", database=url))
    assert there.database_url == url
    assert contents(url) == before
    back = load_settings(restore(dump(there), tmp_path / "back", data=tmp_path / "stored"))
    assert back.database_url == f"sqlite:///{tmp_path}/stored/tacit.db"
    assert contents(back.database_url) == before
    # A number that the lost platform may have used after its backup is used by nobody again.
    first = numbers(settings.database_url)
    for lost, restored in (
        (first, numbers(url)),
        (numbers(url), numbers(back.database_url)),
    ):
        assert all(new >= old + JUMP - 10 for old, new in zip(lost, restored, strict=True))
    with pytest.raises(InputError, match="the database is not empty"):
        restore(dump(settings), tmp_path / "again", database=url)


@pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.processes)]
)
def test_a_backup_is_of_one_moment(
    backed_up: tuple[Settings, World], kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """An account that is added while a backup is written is in none of its tables."""
    settings, _ = backed_up
    if kind == "postgresql":
        url = new_database(request.getfixturevalue("postgres_server"))
        settings = load_settings(restore(dump(settings), tmp_path / "there", database=url))
    rows: list[TableRows] = []
    for record in _records(settings, Path(settings.folder) / "service.toml"):
        if not isinstance(record, TableRows):
            continue
        if not any(each.table == "account" for each in rows):
            with closing(Database(settings.database_url)) as other, other.writing() as session:
                create_account(session, "meanwhile", "viewer")
                issue_token(session, "meanwhile", days=1)
        rows.append(record)
    assert {each.table for each in rows} == set(Base.metadata.tables) - OF_THE_MOMENT
    assert "meanwhile" not in repr(rows)


def test_a_damaged_backup_leaves_nothing_that_could_start(
    backed_up: tuple[Settings, World], tmp_path: Path
) -> None:
    settings, _ = backed_up
    whole = dump(settings).getvalue()
    for number, damaged in enumerate(
        (whole[:-20], whole[: len(whole) // 2], whole[:-40] + bytes(20) + whole[-20:])
    ):
        place = tmp_path / f"{number}"
        with pytest.raises((FileError, InputError)):
            restore(BytesIO(damaged), place)
        if (place / "service.toml").exists():
            found = contents(load_settings(place / "service.toml").database_url)
            assert not found["account"]
            assert not found["run"]
    for start in (b"tacit-backup/2\n", b"PK"):
        with pytest.raises(FileError, match="tacit service backup"):
            restore(BytesIO(start + whole[15:]), tmp_path / "no")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(InputError, match="is not empty"):
        restore(BytesIO(whole), tmp_path / "full")


def test_what_is_outside_of_the_folder_is_put_there_again_and_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = write_cluster(tmp_path / "cluster", [f"127.0.0.1:{9 + i}" for i in (1, 2, 3)])[-1]
    generous(tmp_path / "platform", nodes)
    tacit, file = commands_here(capsys, monkeypatch, "service"), tmp_path / "b"
    done = tacit("backup", file, "--config", tmp_path / "platform" / "service.toml")
    assert (done.code, stat.S_IMODE(file.stat().st_mode)) == (0, 0o600)
    assert tacit("restore", file, tmp_path / "same").code == 0
    kept, nodes_file = nodes.read_bytes(), nodes
    nodes_file.write_bytes(kept + b"# another\n")
    refused = tacit("restore", file, tmp_path / "other")
    assert (refused.code, str(nodes_file) in refused.err) == (2, True)
    nodes_file.unlink()
    assert tacit("restore", file, tmp_path / "third").code == 0
    assert nodes_file.read_bytes() == kept
    assert tacit("restore", tmp_path / "none", tmp_path / "x").code == 2
    settings = load_settings(tmp_path / "platform" / "service.toml")
    with pytest.raises(InputError, match="no database"):
        dump(replace(settings, database="sqlite:///gone.db"))


def test_the_document_says_of_every_table_whether_to_back_it_up() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text().partition("## Backup")[2]
    assert [name for name in Base.metadata.tables if f"`{name}`" not in page] == []
