"""Runs: draft, change and invite; agree, sign and submit; cancel, withdraw and resume."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from sqlalchemy import delete
from sqlalchemy.orm import Session

from tacit.agreement import box_hash
from tacit.client import (
    InvitationFile,
    ListedRun,
    Page,
    PublicWeights,
    Reason,
    RunState,
    RunTerms,
    RunView,
    Signed,
    SubmitRows,
    SubmittedRows,
)
from tacit.service.access.permissions import PARTICIPANT
from tacit.service.api.answers import run_view, runs_page
from tacit.service.api.encoding import error_responses
from tacit.service.api.gate import AccountName, Asker, RunId, ThePlatform, gated_router
from tacit.service.api.paging import NO_NUL, USUALLY_LISTED, After, Limit, Name, key_of
from tacit.service.execution.cancelling import cancel_run
from tacit.service.storage import (
    Event,
    Run,
    StoredBoxes,
    create_run,
    read_run,
    sealed_of,
    set_state,
)
from tacit.service.storage.pages import Position, RunFilter
from tacit.service.storage.states import BEFORE_RUNNING, check_state
from tacit.service.workflow.inviting import invite_members, invite_to_run
from tacit.service.workflow.series import begin_run, draft_in_series, fitting_draft
from tacit.service.workflow.submitting import (
    agreement_bytes,
    check_signature,
    sealed_from,
    sign,
    submit,
)

DRAFT: frozenset[RunState] = frozenset({"draft"})


def _create(session: Session, terms: RunTerms, by: str) -> RunView:
    run = create_run(session, terms, by=by)
    return run_view(session, run.id)


def _change(session: Session, run_id: str, terms: RunTerms) -> RunView:
    # Locked: participants who are invited at the same moment must not get terms that change
    # afterwards.
    run = read_run(session, run_id, for_update=True)
    check_state(run.state, DRAFT, to="change it")
    run.name, run.terms = terms.name, terms
    return run_view(session, run_id)


def _discard(session: Session, run_id: str) -> None:
    check_state(read_run(session, run_id, for_update=True).state, DRAFT, to="discard it")
    # A draft has neither members nor boxes yet; its events are all that refers to it.
    session.execute(delete(Event).where(Event.run == run_id))
    session.execute(delete(Run).where(Run.id == run_id))


async def _run_filter(
    who: Asker,
    state: Annotated[
        list[RunState] | None, Query(description="Only runs in this state, or in one of several.")
    ] = None,
    name: Name = None,
    search: Annotated[
        str,
        Query(
            max_length=200,
            pattern=NO_NUL,
            description="Words, each of which is in the name or the id.",
        ),
    ] = "",
    mine: Annotated[
        bool, Query(description="Only those that one has created; a participant's are its own.")
    ] = False,
) -> RunFilter:
    takes_part = who.role == PARTICIPANT
    return RunFilter(
        states=tuple(dict.fromkeys(state or ())),
        name=name,
        words=tuple(search.split()),
        participant=who.account if takes_part else None,
        created_by=who.account if mine and not takes_part else None,
    )


Wanted = Annotated[RunFilter, Depends(_run_filter)]


def runs_router() -> APIRouter:
    """The routes of runs."""
    router = gated_router("runs")

    @router.get("/runs")
    async def runs(
        platform: ThePlatform,
        wanted: Wanted,
        after: After = None,
        limit: Limit = USUALLY_LISTED,
    ) -> Page[ListedRun]:
        """A page of the runs that one may see: a participant its own, the newest first."""
        position = key_of(after, Position)
        return await platform.database.read(runs_page, wanted, after=position, limit=limit)

    @router.post("/runs", status_code=201, responses=error_responses(422))
    async def draft(body: RunTerms, who: Asker, platform: ThePlatform) -> RunView:
        """Draft a run; terms that no agreement could be made of are refused here."""
        terms = await platform.intake.checked(body)
        return await platform.database.write(_create, terms, who.account)

    @router.get("/runs/{run_id}", responses=error_responses(404))
    async def run(run_id: RunId, platform: ThePlatform) -> RunView:
        """A run, with its members and how far it is."""
        return await platform.database.read(run_view, run_id)

    @router.put("/runs/{run_id}", responses=error_responses(404, 409, 422))
    async def change(run_id: RunId, body: RunTerms, platform: ThePlatform) -> RunView:
        """Change a draft; one of a series' run within what was signed with the series."""
        in_series = await platform.database.read(draft_in_series, run_id, body)
        if in_series is None:
            terms = await platform.intake.checked(body)
        else:
            terms = await asyncio.to_thread(fitting_draft, *in_series)
        return await platform.database.write(_change, run_id, terms)

    @router.delete("/runs/{run_id}", status_code=204, responses=error_responses(404, 409))
    async def discard(run_id: RunId, platform: ThePlatform) -> None:
        """Discard a draft."""
        await platform.database.write(_discard, run_id)

    @router.post("/runs/{run_id}/invite", responses=error_responses(404, 409, 422))
    async def invite(run_id: RunId, platform: ThePlatform) -> RunView:
        """Choose a cluster and invite the participants; new ones get a code, shown once."""
        codes = {}
        if (await platform.database.read(read_run, run_id)).series is None:
            cluster = await platform.execution.cluster_for_new_run()
            codes = await platform.database.write(
                invite_members, platform.settings, run_id, cluster
            )
        else:
            await platform.database.write(begin_run, platform.settings, run_id)
        await platform.execution.changed(run_id)
        return await platform.database.read(run_view, run_id, invitations=codes)

    _add_weights_and_invitations(router)
    _add_endings(router)
    return router


def _add_weights_and_invitations(router: APIRouter) -> None:
    @router.get("/runs/{run_id}/public-weights", responses=error_responses(404))
    async def public(run_id: RunId, platform: ThePlatform) -> PublicWeights:
        """The weights of public objectives, which the search and its checks need."""
        objectives = (await platform.database.read(read_run, run_id)).terms.objectives
        given = {k: each.weights for k, each in enumerate(objectives)}
        return PublicWeights({k: rows for k, rows in given.items() if rows is not None})

    @router.post(
        "/runs/{run_id}/invitations/{name}",
        status_code=201,
        responses=error_responses(404, 409),
    )
    async def invitation(run_id: RunId, name: AccountName, platform: ThePlatform) -> InvitationFile:
        """A new invitation for a participant of a run, as the file that it joins with.

        Its earlier codes end. The file works once, for whoever has it.
        """
        return await platform.database.write(invite_to_run, platform.settings, run_id, name)


def _add_endings(router: APIRouter) -> None:
    @router.post("/runs/{run_id}/cancel", responses=error_responses(404, 409))
    async def cancel(
        run_id: RunId, who: Asker, platform: ThePlatform, body: Reason | None = None
    ) -> RunView:
        """Cancel a run that has not ended; one that is running keeps its best so far."""
        reason = (body or Reason()).of(f"cancelled by {who.account}")
        await platform.database.write(cancel_run, run_id, reason)
        await platform.execution.changed(run_id)
        return await platform.database.read(run_view, run_id)

    @router.post("/runs/{run_id}/resume", responses=error_responses(404, 409))
    async def resume(run_id: RunId, platform: ThePlatform) -> RunView:
        """Let an interrupted run wait for a slot again and go on from its checkpoint."""
        await platform.database.write(
            # An agreed run may become submitted, too, but only when the nodes have all inputs.
            set_state,
            run_id,
            "submitted",
            only_from=frozenset({"interrupted"}),
        )
        await platform.execution.changed(run_id)
        return await platform.database.read(run_view, run_id)


def _shown(sealed: StoredBoxes) -> SubmittedRows:
    boxes = [box_hash(box) for box in sealed.boxes]
    return SubmittedRows(sealed.objective, sealed.state, sealed.reason, boxes)


def _mine(session: Session, run_id: str, participant: str) -> list[SubmittedRows]:
    return [_shown(sealed) for sealed in sealed_of(session, run_id, participant)]


def taking_part_router() -> APIRouter:
    """The routes of participants."""
    router = gated_router("taking part")

    @router.get(
        "/runs/{run_id}/agreement",
        response_class=Response,
        responses={
            200: {
                "content": {"application/json": {"schema": {"type": "object"}}},
                "description": "The canonical bytes; their SHA-256 is in Tacit-Agreement.",
            },
            **error_responses(404),
        },
    )
    async def agreement(run_id: RunId, platform: ThePlatform) -> Response:
        """The agreement, byte for byte as it is signed."""
        data, digest = await platform.database.read(agreement_bytes, run_id)
        headers = {"Tacit-Agreement": digest}
        return Response(data, media_type="application/json", headers=headers)

    @router.post(
        "/runs/{run_id}/signature",
        responses=error_responses(404, 409, 422),
    )
    async def signature(run_id: RunId, body: Signed, who: Asker, platform: ThePlatform) -> RunView:
        """Sign the agreement; with the last signature the run is agreed."""
        given = bytes.fromhex(body.signature)
        # Checking a signature under a long agreement is slow, and all writes share one lock. So it
        # happens in a transaction that reads, and the write only compares the hash.
        digest = await platform.database.read(check_signature, run_id, who.account, given)
        if await platform.database.write(sign, run_id, who.account, given, digest=digest):
            await platform.execution.changed(run_id)
        return await platform.database.read(run_view, run_id)

    @router.post(
        "/runs/{run_id}/submission", status_code=201, responses=error_responses(404, 409, 422)
    )
    async def submission(
        run_id: RunId, body: SubmitRows, who: Asker, platform: ThePlatform
    ) -> SubmittedRows:
        """Hand in sealed rows for one objective; with 201 they are stored for good."""
        # Boxes are decoded and hashed before the write, which all others would wait for.
        sealed = await platform.database.read(
            sealed_from,
            run_id,
            who.account,
            objective=body.objective,
            manifest=bytes.fromhex(body.manifest),
            signature=bytes.fromhex(body.signature),
            boxes=body.boxes,
        )
        stored, is_new = await platform.database.write(submit, sealed)
        if is_new:
            await platform.execution.changed(run_id)
        return _shown(stored)

    @router.get("/runs/{run_id}/submission", responses=error_responses(404))
    async def submissions(run_id: RunId, who: Asker, platform: ThePlatform) -> list[SubmittedRows]:
        """One's own sealed rows, and how the nodes took them."""
        return await platform.database.read(_mine, run_id, who.account)

    @router.post("/runs/{run_id}/withdraw", responses=error_responses(404, 409))
    async def withdraw(
        run_id: RunId, who: Asker, platform: ThePlatform, body: Reason | None = None
    ) -> RunView:
        """Take no part after all, which cancels the run; possible until it is running."""
        reason = (body or Reason()).of(f"{who.account} has withdrawn")
        await platform.database.write(cancel_run, run_id, reason, only_from=BEFORE_RUNNING)
        await platform.execution.changed(run_id)
        return await platform.database.read(run_view, run_id)

    return router
