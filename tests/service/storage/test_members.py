"""What belongs to one account is changed, signed and heard by no other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement import canonical, seal_rows
from tacit.client import RunTerms, converted
from tacit.errors import NotThereError, SealError, ServiceError, WrongStateError
from tacit.service.access.credentials import Requester
from tacit.service.api.watching import _Visibility
from tacit.service.storage import (
    Account,
    Database,
    StoredBoxes,
    add_members,
    create_account,
    create_run,
    events_after,
    members_of,
    set_agreement,
    set_signature,
    set_state,
    set_submission_state,
    store_sealed,
)
from tacit.service.storage.accounts import MOST_WEBHOOKS, add_webhook, remove_webhook, webhooks_of
from tacit.service.workflow import submitting
from tacit.service.workflow.inviting import accounts_of, invite_to_run, keep_draft
from tacit.service.workflow.submitting import sealed_from, submit
from tests.on_nodes.owners_cast import owners_cast
from tests.service.example_terms import plain_terms

CAST = owners_cast()
PARTS = dict.fromkeys(("manifest", "signature", "box0", "box1", "box2"), b"x")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{tmp_path}/tacit.db")
    with opened.writing() as session:
        create_account(session, "op", "operator")
        for name in ("north", "south"):
            create_account(session, name, "participant")
    yield opened
    opened.close()


def new_run(database: Database, *members: str) -> str:
    with database.writing() as session:
        run = create_run(session, converted(plain_terms(), RunTerms), by="op")
        add_members(session, run.id, {name: [at] for at, name in enumerate(members)})
        return run.id


def test_signatures_are_under_the_agreement_as_it_stands_and_all_have_to_sign(
    database: Database,
) -> None:
    run_id = new_run(database, "north", "south")
    with database.writing() as session:
        set_state(session, run_id, "invited")
        set_agreement(session, run_id, b"one", "aa")
        assert not set_signature(session, run_id, "north", b"signed")
        assert set_signature(session, run_id, "south", b"signed")
        set_agreement(session, run_id, b"two", "bb")
        assert [each.signature for each in members_of(session, run_id)] == [None, None]


def test_other_rows_take_the_place_of_refused_ones_alone(database: Database) -> None:
    run_id = new_run(database, "north", "south")

    def rows(manifest: bytes) -> StoredBoxes:
        parts: Any = {**PARTS, "manifest": manifest}
        return StoredBoxes(run=run_id, participant="north", objective=0, **parts)

    with database.writing() as session:
        for state in ("invited", "agreed"):
            set_state(session, run_id, state)
        assert submit(session, rows(b"first"))[1]
        assert not submit(session, rows(b"first"))[1], "the same once more"
        for state in ("waiting", "accepted"):
            set_submission_state(session, run_id, "north", state)  # type: ignore[arg-type]
            with pytest.raises(WrongStateError):
                submit(session, rows(b"second"))
        set_submission_state(session, run_id, "north", "refused")
        assert submit(session, rows(b"second"))[1]
        store_sealed(session, rows(b"third"))


def test_one_seals_for_oneself_and_for_the_objective_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agreement = CAST.agreement
    name, other = [*CAST.participants][:2]
    weights = np.zeros((len(agreement.rows_of(name, 0)), agreement.problem.columns), np.int64)
    sealed = seal_rows(agreement, name, 0, weights, key=CAST.participants[name])
    monkeypatch.setattr(submitting, "agreement_bytes", lambda *_: (canonical(agreement), ""))

    def handed_in(participant: str, objective: int, *boxes: bytes) -> StoredBoxes:
        session: Any = None
        return sealed_from(
            session,
            "r-x",
            participant,
            objective=objective,
            manifest=sealed.manifest,
            signature=sealed.signature,
            boxes=boxes or sealed.boxes,
        )

    assert [*handed_in(name, 0).boxes] == [*sealed.boxes]
    for participant, objective, boxes in (
        (other, 0, ()),
        (name, 1, ()),
        (name, 0, (sealed.boxes[1], sealed.boxes[0], sealed.boxes[2])),
        (name, 0, (bytes(100_000), *sealed.boxes[1:])),
    ):
        with pytest.raises(SealError):
            handed_in(participant, objective, *boxes)


def test_webhooks_are_few_and_ones_own(database: Database) -> None:
    with database.writing() as session:
        for number in range(MOST_WEBHOOKS):
            add_webhook(session, "north", f"https://example.org/{number}")
        with pytest.raises(WrongStateError):
            add_webhook(session, "north", "https://example.org/more")
        session.flush()
        mine = webhooks_of(session, "north")[0].id
        with pytest.raises(NotThereError):
            remove_webhook(session, "south", mine)
        remove_webhook(session, "north", mine)
        session.flush()
        assert mine not in [each.id for each in webhooks_of(session, "north")]


def test_events_are_those_of_ones_own_runs(database: Database) -> None:
    mine, others = new_run(database, "north"), new_run(database, "south")
    with database.reading() as session:
        assert {each.run for each in events_after(session, 0, participant="north")} == {mine}
        assert {each.run for each in events_after(session, 0)} == {mine, others}

    class Read:
        async def read(self, query: Any, *given: Any) -> Any:
            with database.reading() as session:
                return query(session, *given)

    platform: Any = SimpleNamespace(database=Read())
    who = Requester("north", "participant", None, 0.0, "")

    async def seen() -> list[bool]:
        visible = _Visibility(platform, who, None)
        with database.reading() as session:
            return [
                await visible.covers(event)
                for event in events_after(session, 0)
                if event.run in (mine, others)
            ]

    assert asyncio.run(seen()) == [True, False]


def test_invitations_and_rows_are_for_participants_of_the_run(database: Database) -> None:
    run_id = new_run(database, "north")
    settings: Any = SimpleNamespace(
        invitation_hours=1.0, certificate_to_pin=None, url="https://example.org"
    )
    with database.writing() as session:
        set_state(session, run_id, "invited")
        assert invite_to_run(session, settings, run_id, "north").account == "north"
        for name in ("south", "op"):
            with pytest.raises(NotThereError):
                invite_to_run(session, settings, run_id, name)
        assert [each.name for each in accounts_of(session, ["north", "new"])] == ["north", "new"]
        with pytest.raises(ServiceError):
            accounts_of(session, ["north", "op"])


def test_a_draft_is_kept_if_it_has_the_keys_of_now(database: Database) -> None:
    run_id = new_run(database, "north")
    (participant, *_), key = CAST.agreement.participants, "ab" * 32
    mine = replace(participant, name="north", signing_key=key)
    agreement = replace(CAST.agreement, participants=[mine])
    with database.writing() as session:
        set_state(session, run_id, "invited").cluster = "main"
        account = session.get_one(Account, "north")
        for signing_key, kept in ((None, False), ("cd" * 32, False), (key, True)):
            account.signing_key = signing_key
            session.flush()
            assert keep_draft(session, run_id, agreement) is kept
