"""A database of the version before opens, with everything that was in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, create_engine, text
from sqlalchemy.exc import IntegrityError

from tacit.service.storage import Database, events_after, members_of, migrations, read_run
from tacit.service.storage.models import Base
from tacit.service.storage.notices import unread_events
from tacit.service.storage.submissions import sealed_of
from tests.service.postgres import new_database

STEPS = str(Path(migrations.__file__).parent)
RUN = "r-abcdefghij"
FIRST_VERSION: Mapping[str, dict[str, Any]] = {
    "account": {"name": "north", "role": "participant", "created": 1.0},
    "run": {
        "id": RUN,
        "name": "morning",
        "state": "finished",
        "terms": {"deadline_seconds": 20},
        "trio": "trio-1",
        "created_by": "north",
        "created": 2.0,
        "result": {"items": [1, 0]},
        "warnings": ["clocks differ"],
    },
    "event": {"run": RUN, "at": 3.0, "kind": "state", "data": {"state": "finished"}},
    "member": {
        "run": RUN,
        "participant": "north",
        "position": 0,
        "rows": [0, 1],
        "submission_state": "accepted",
    },
    "sealed": {
        **dict.fromkeys(("manifest", "signature", "box0", "box1", "box2"), b"x"),
        "run": RUN,
        "participant": "north",
        "objective": 0,
        "state": "accepted",
    },
}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.processes)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/tacit.db"
    return new_database(request.getfixturevalue("postgres_server"))


def make_first_version(url: str) -> None:
    """A database as the first version left it, with a run in it."""
    config = Config()
    config.set_main_option("script_location", STEPS)
    engine = create_engine(url)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        tables = MetaData()
        tables.reflect(connection)
        for name, row in FIRST_VERSION.items():
            connection.execute(tables.tables[name].insert(), row)
    engine.dispose()


def differences(url: str) -> list[object]:
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            return list(compare_metadata(context, Base.metadata))
    finally:
        engine.dispose()


def test_a_database_of_the_first_version_opens_and_keeps_its_runs(url: str) -> None:
    make_first_version(url)
    database = Database(url)
    with database.reading() as session:
        run = read_run(session, RUN)
        assert (run.cluster, run.name, run.state) == ("trio-1", "morning", "finished")
        assert (run.terms, run.result) == ({"deadline_seconds": 20}, {"items": [1, 0]})
        assert run.warnings == ["clocks differ"]
        assert [each.rows for each in members_of(session, RUN)] == [[0, 1]]
        assert [each.manifest for each in sealed_of(session, RUN, "north")] == [b"x"]
        (event,) = events_after(session, 0)
        assert event.data == {"state": "finished"}
        assert unread_events(session, ("state",), limit=9) == [], "nobody is told of old events"
    database.close()
    assert differences(url) == []


def test_migrations_give_the_tables_of_the_models_also_twice(url: str) -> None:
    for _ in range(2):
        Database(url).close()
        assert differences(url) == []


def test_what_refers_to_a_run_still_does(url: str) -> None:
    make_first_version(url)
    database = Database(url)
    with pytest.raises(IntegrityError), database.writing() as session:
        session.execute(text("DELETE FROM run"))
    database.close()


def test_the_last_step_is_the_one_that_a_restart_looks_for() -> None:
    assert ScriptDirectory(STEPS).get_current_head() == migrations.HEAD
