"""The steps that make the tables give those of the models."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from tacit.errors import InputError
from tacit.service.storage import Database, migrations
from tacit.service.storage.models import Base
from tests.service.postgres import new_database

STEPS = str(Path(migrations.__file__).parent)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.processes)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/tacit.db"
    return new_database(request.getfixturevalue("postgres_server"))


def differences(url: str) -> list[object]:
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            return list(compare_metadata(context, Base.metadata))
    finally:
        engine.dispose()


def test_migrations_give_the_tables_of_the_models_also_twice(url: str) -> None:
    for _ in range(2):
        Database(url).close()
        assert differences(url) == []


def test_a_database_of_another_version_is_refused_and_left_as_it_is(url: str) -> None:
    Database(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InputError, match="another version of tacit"):
        Database(url)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "9999"
    engine.dispose()
    assert differences(url) == []


def test_the_last_step_is_the_one_that_a_restart_looks_for() -> None:
    assert ScriptDirectory(STEPS).get_current_head() == migrations.HEAD
