"""Lists page by page: what a page costs with 20,000 runs, what is on it, and its cursors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from sqlalchemy import insert, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from tacit.client import RunState
from tacit.service.api.paging import cursor_of
from tacit.service.storage import Database, Run, create_account
from tacit.service.storage.models import Member, TermsSummary, new_id
from tacit.service.storage.pages import Position, RunFilter, page_of_runs, runs_query
from tests.service.example_terms import example_terms, plain_terms
from tests.service.storage.test_database import BOTH, empty_database
from tests.service.world import World

RUNS = 20_000
PAGE = 100
UNUSUAL: dict[int, RunState] = {0: "running", 1: "failed", 2: "draft", 3: "cancelled"}
"""By the last two digits of a run's number; all others are finished."""


def state_of(number: int) -> RunState:
    return UNUSUAL.get(number % 100, "finished")


def many_runs(session: Session) -> None:
    """Four runs a second; south takes part in few of them, and deputy created these."""
    for name, role in (("op", "operator"), ("deputy", "operator"), ("north", "participant"),
                       ("south", "participant")):  # fmt: skip
        create_account(session, name, role)
    summary = TermsSummary("assignment", ["top:5"], 2)
    runs: list[dict[str, Any]] = [
        {
            "id": new_id("r"),
            "name": f"run {number}",
            "state": state_of(number),
            "terms": example_terms(),
            "summary": summary,
            "created_by": "deputy" if number % 50 == 0 else "op",
            "created": 1e9 + number // 4,
            "warnings": [],
        }
        for number in range(RUNS)
    ]
    session.execute(insert(Run), runs)
    members = [
        {
            "run": run["id"],
            "participant": name,
            "created": run["created"],
            "position": position,
            "rows": [0],
            "submission_state": "missing",
        }
        for run in runs
        for position, name in enumerate(("north", "south"))
        if name == "north" or run["created_by"] == "deputy"
    ]
    session.execute(insert(Member), members)


@pytest.fixture(scope="module", params=BOTH)
def full(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    database = Database(empty_database(request, tmp_path_factory.mktemp("full")))
    with database.writing() as session:
        if database.server is not None:
            # Longer than a process of the platform may leave a transaction alone.
            session.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        many_runs(session)
    with database.writing() as session:
        session.execute(text("ANALYZE"))
    yield database
    database.close()


FILTERS = {
    "all": RunFilter(),
    "one state": RunFilter(states=("finished",)),
    "several states": RunFilter(states=("running", "failed", "draft")),
    "a name": RunFilter(name="run 7000"),
    "a participant": RunFilter(participant="north"),
    "a participant of few": RunFilter(participant="south"),
    "an operator's own": RunFilter(created_by="deputy"),
}


def expected(session: Session, wanted: RunFilter) -> list[tuple[float, str]]:
    """The keys of all runs that fit, by a query that no page has anything in common with."""
    mine = session.query(Member.run).filter(Member.participant == wanted.participant)
    of_participant = {run for (run,) in mine}
    return sorted(
        (
            (run.created, run.id)
            for run in session.query(Run.created, Run.id, Run.name, Run.state, Run.created_by)
            if (not wanted.states or run.state in wanted.states)
            and wanted.name in (None, run.name)
            and wanted.created_by in (None, run.created_by)
            and (wanted.participant is None or run.id in of_participant)
        ),
        reverse=True,
    )


@pytest.mark.parametrize("wanted", FILTERS.values(), ids=FILTERS)
def test_the_pages_of_a_list_are_the_list(full: Database, wanted: RunFilter) -> None:
    found: list[tuple[float, str]] = []
    with full.reading() as session:
        after = None
        while page := page_of_runs(session, wanted, after=after, limit=997):
            found += [(row.created, row.id) for row in page]
            after = Position(*found[-1])
        assert found == expected(session, wanted)
        assert found


@pytest.mark.parametrize("depth", [0.0, 0.9])
@pytest.mark.parametrize("wanted", FILTERS.values(), ids=FILTERS)
def test_a_page_reads_a_bounded_number_of_rows(
    full: Database, wanted: RunFilter, depth: float
) -> None:
    after = None if depth == 0.0 else Position(1e9 + (1 - depth) * RUNS / 4, "r-" + "a" * 10)
    query = runs_query(wanted, after=after, limit=PAGE)
    with full.reading() as session:
        if session.get_bind().dialect.name == "sqlite":
            assert steps_of_sqlite(session, query) < 150 * PAGE
        else:
            assert rows_of_postgresql(session, query) < 12 * PAGE


def steps_of_sqlite(session: Session, query: Any) -> int:
    """How many steps of its virtual machine a query takes; a row takes several."""
    every, count = 100, 0

    def step() -> None:
        nonlocal count
        count += every

    driver: Any = session.connection().connection.driver_connection
    driver.set_progress_handler(step, every)
    try:
        session.execute(query).all()
    finally:
        driver.set_progress_handler(None, 0)
    return count


def rows_of_postgresql(session: Session, query: Any) -> int:
    """How many rows a query looked at, at all steps of its plan."""
    written = query.compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True})  # type: ignore[no-untyped-call]
    explained = text(f"EXPLAIN (ANALYZE, FORMAT JSON) {written}")
    found = session.scalar(explained)
    (plan,) = json.loads(found) if isinstance(found, str) else found

    def rows(node: dict[str, Any]) -> int:
        removed = node.get("Rows Removed by Filter", 0)
        mine = (node["Actual Rows"] + removed) * node["Actual Loops"]
        return int(mine) + sum(rows(each) for each in node.get("Plans", []))

    return rows(plan["Plan"])


def test_a_search_looks_through_an_index_alone(full: Database) -> None:
    """Whatever is large in the rows, the names of all runs are in the index."""
    query = runs_query(RunFilter(words=("RUN", "1234")), after=None, limit=PAGE)
    with full.reading() as session:
        found = session.execute(query).all()
        numbers = [1234, 11234, *range(12340, 12350)]
        assert {row.name for row in found} == {f"run {number}" for number in numbers}
        if session.get_bind().dialect.name == "sqlite":
            written = query.compile(compile_kwargs={"literal_binds": True})
            plan = session.execute(text(f"EXPLAIN QUERY PLAN {written}")).all()
            assert any("COVERING INDEX ix_run_created" in row.detail for row in plan)
            assert not any(row.detail == "SCAN run" for row in plan)


# Through the API.


def ids(page: dict[str, Any]) -> list[str]:
    return [each["id"] for each in page["items"]]


def test_a_page_says_how_to_ask_for_the_next(world: World) -> None:
    made = [world.draft(name=f"run {i}") for i in range(5)][::-1]
    first = world.ok("GET", "/runs", "op", params={"limit": 2})
    assert ids(first) == made[:2]
    # What is added meanwhile moves nothing to another page.
    world.draft(name="late")
    second = world.ok("GET", "/runs", "op", params={"limit": 2, "after": first["next"]})
    third = world.ok("GET", "/runs", "op", params={"limit": 2, "after": second["next"]})
    assert ids(second) + ids(third) == made[2:]
    assert third["next"] is None
    shown = third["items"][0]
    assert (shown["kind"], shown["participants"], shown["joined"]) == ("assignment", 2, 0)
    assert "terms" not in shown


def test_a_list_shows_a_draft_as_it_was_changed_last(world: World) -> None:
    run_id = world.draft()
    terms = {**plain_terms(), "name": "evening", "participants": {"alone": [0, 1, 2, 3]}}
    world.ok("PUT", f"/runs/{run_id}", "op", json=terms)
    (shown,) = world.ok("GET", "/runs", "op")["items"]
    assert (shown["name"], shown["participants"]) == ("evening", 1)


def test_a_list_is_narrowed_by_state_name_words_and_owner(world: World) -> None:
    world.add("deputy", "operator")
    draft, running = world.draft(name="Dawn patrol"), world.ended("running", name="dusk")
    theirs = world.ok("POST", "/runs", "deputy", json={**plain_terms(), "name": "dawn"})["id"]

    def found(who: str = "op", **params: Any) -> list[str]:
        return ids(world.ok("GET", "/runs", who, params=params))

    assert found(state=["draft", "running"]) == [theirs, running, draft]
    assert found(state="running") == found(name="dusk") == [running]
    assert found(name="dawn") == [theirs]
    assert found(search="dawn") == [theirs, draft]
    assert found(search="pat DAWN") == [draft]
    assert found(search=draft) == [draft]
    assert found(search="100%") == found(search="d_wn") == []
    assert found(mine=True) == [running, draft]
    assert found("eye", mine=True) == []
    assert found("north", mine=True) == found("north") == [running]
    assert found("north", state="running", name="dusk", search="us") == [running]
    assert found("north", state="draft") == found("outsider") == []


def test_what_cannot_be_a_page_is_refused(world: World) -> None:
    world.draft()
    short, wrong_kind = cursor_of([1.0]), cursor_of(["x", 1])
    not_ours = cursor_of([1.0, "r-\0"])
    for after in ("x", "=", "\u00e9", short, wrong_kind, not_ours, cursor_of("north"), "A" * 401):
        for path in ("/runs", "/series"):
            world.refused("malformed", "GET", path, "op", params={"after": after})
    for after in ("x", short, cursor_of("nul\0"), cursor_of("x" * 64)):
        world.refused("malformed", "GET", "/accounts", "op", params={"after": after})
    for params in ({"limit": 0}, {"limit": 501}, {"limit": "x"}, {"state": "lost"},
                   {"search": "nul\0"}, {"name": "nul\0"}, {"mine": "perhaps"}):  # fmt: skip
        world.refused("malformed", "GET", "/runs", "op", params=params)


def test_series_and_accounts_have_pages_too(world: World) -> None:
    made = [world.invited_series(name=name) for name in ("daily", "hourly", "weekly")][::-1]
    first = world.ok("GET", "/series", "op", params={"limit": 2})
    rest = world.ok("GET", "/series", "op", params={"after": first["next"]})
    assert (ids(first), ids(rest), rest["next"]) == (made[:2], made[2:], None)
    assert ids(world.ok("GET", "/series", "op", params={"name": "hourly"})) == [made[1]]
    assert ids(world.ok("GET", "/series", "north", params={"limit": 1})) == made[:1]
    names: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = world.ok("GET", "/accounts", "op", params={"limit": 2, **after})
        names += [each["name"] for each in page["items"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert names == ["eye", "north", "op", "outsider", "south"]


def test_a_cursor_keeps_the_last_digit_of_a_time() -> None:
    position = Position(1732051234.1234567, "r-aaaaaaaaaa")
    kept = msgspec.json.decode(msgspec.json.encode(position), type=Position)
    assert kept == position
