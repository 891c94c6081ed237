"""Runs: list, draft, change, invite, cancel, resume."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response
from sqlalchemy import delete
from sqlalchemy.orm import Session

from tacit.errors import WrongStateError
from tacit.service.access.permissions import PARTICIPANT
from tacit.service.api.answers import run_answer
from tacit.service.api.errors import error_responses
from tacit.service.api.gate import Asker, RunId, ThePlatform, gated_router
from tacit.service.api.glances import run_summaries
from tacit.service.api.shapes.general import Why
from tacit.service.api.shapes.runs import PublicWeights, RunAnswer, RunInvited, RunSummary
from tacit.service.api.terms import RunTerms
from tacit.service.execution.agreed_runs import stored_agreement
from tacit.service.storage import Event, Run, create_run, read_run, set_state
from tacit.service.workflow.drafting import checked_terms
from tacit.service.workflow.inviting import invite_members
from tacit.service.workflow.lifecycle import BEFORE_RUNNING, State, check_state
from tacit.service.workflow.public_weights import public_weights
from tacit.service.workflow.series_lifecycle import begin_run, draft_in_series, fitting_draft

DRAFT = frozenset({State.DRAFT})


def _check_goes_on(session: Session, run_id: str) -> None:
    """Before its state changes: an interrupted run keeps what it has."""
    if read_run(session, run_id).where is State.INTERRUPTED:
        stored_agreement(session, run_id).check_goes_on()


def _create(session: Session, terms: RunTerms, by: str) -> Response:
    run = create_run(session, terms.name, terms.model_dump(mode="json"), by=by)
    answer = run_answer(session, run.id)
    answer.status_code = 201
    return answer


def _change(session: Session, run_id: str, terms: RunTerms) -> Response:
    run = read_run(session, run_id, for_update=True)
    check_state(run.where, DRAFT, to="change it")
    run.name, run.terms = terms.name, terms.model_dump(mode="json")
    return run_answer(session, run_id)


def _discard(session: Session, run_id: str) -> None:
    check_state(read_run(session, run_id, for_update=True).where, DRAFT, to="discard it")
    session.execute(delete(Event).where(Event.run == run_id))
    session.execute(delete(Run).where(Run.id == run_id))


def cancel_before_running(session: Session, run_id: str, reason: str, /) -> None:
    """Cancel a run that does not run yet; leave one that runs to execution."""
    run = read_run(session, run_id, for_update=True)
    if run.where.is_end:
        raise WrongStateError(f"the run is {run.state}; there is nothing to cancel")
    if run.where in BEFORE_RUNNING:
        set_state(session, run_id, State.CANCELLED, reason=reason)


def runs_router() -> APIRouter:
    """The routes of runs."""
    router = gated_router("runs")

    @router.get("/runs")
    async def runs(who: Asker, platform: ThePlatform) -> list[RunSummary]:
        """All runs that one may see: a participant its own, the newest first."""
        mine = who.account if who.role == PARTICIPANT else None
        return await platform.database.read(run_summaries, platform.glances, participant=mine)

    @router.post("/runs", response_model=RunAnswer, status_code=201, responses=error_responses(422))
    async def draft(body: RunTerms, who: Asker, platform: ThePlatform) -> Response:
        """Draft a run; terms that no agreement could be made of are refused here."""
        terms = await asyncio.to_thread(checked_terms, body)
        return await platform.database.write(_create, terms, who.account)

    @router.get("/runs/{run_id}", response_model=RunAnswer, responses=error_responses(404))
    async def run(run_id: RunId, platform: ThePlatform) -> Response:
        """A run, with its members and how far it is."""
        return await platform.database.read(run_answer, run_id)

    @router.put(
        "/runs/{run_id}", response_model=RunAnswer, responses=error_responses(404, 409, 422)
    )
    async def change(run_id: RunId, body: RunTerms, platform: ThePlatform) -> Response:
        """Change a draft; one of a series' run within what was signed with the series."""
        in_series = await platform.database.read(draft_in_series, run_id, body)
        if in_series is None:
            terms = await asyncio.to_thread(checked_terms, body)
        else:
            terms = await asyncio.to_thread(fitting_draft, *in_series)
        return await platform.database.write(_change, run_id, terms)

    @router.delete("/runs/{run_id}", status_code=204, responses=error_responses(404, 409))
    async def discard(run_id: RunId, platform: ThePlatform) -> None:
        """Discard a draft."""
        await platform.database.write(_discard, run_id)

    @router.post(
        "/runs/{run_id}/invite", response_model=RunInvited, responses=error_responses(404, 409, 422)
    )
    async def invite(run_id: RunId, platform: ThePlatform) -> Response:
        """Choose a cluster and invite the participants; new ones get a code, shown once."""
        codes = {}
        if (await platform.database.read(read_run, run_id)).series is None:
            cluster = await platform.execution.cluster_for_new_run()
            codes = await platform.database.write(
                invite_members, platform.settings, run_id, cluster
            )
        else:
            await platform.database.write(begin_run, platform.settings, run_id)
        await platform.execution.draw_up(run_id)
        return await platform.database.read(run_answer, run_id, invitations=codes)

    _add_public_weights(router)
    _add_endings(router)
    return router


def _add_public_weights(router: APIRouter) -> None:
    @router.get("/runs/{run_id}/public-weights", responses=error_responses(404))
    async def public(run_id: RunId, platform: ThePlatform) -> PublicWeights:
        """The weights of public objectives, which the search and its checks need."""
        run = await platform.database.read(read_run, run_id)
        found = {k: weights.tolist() for k, weights in public_weights(run.terms).items()}
        return PublicWeights(objectives=found)


def _add_endings(router: APIRouter) -> None:
    @router.post(
        "/runs/{run_id}/cancel", response_model=RunAnswer, responses=error_responses(404, 409)
    )
    async def cancel(
        run_id: RunId, who: Asker, platform: ThePlatform, body: Why | None = None
    ) -> Response:
        """Cancel a run that has not ended; one that is running keeps its best so far."""
        reason = f"cancelled by {who.account}"
        reason += f": {body.reason}" if body is not None and body.reason else ""
        await platform.database.write(cancel_before_running, run_id, reason)
        await platform.execution.cancel(run_id, reason)
        return await platform.database.read(run_answer, run_id)

    @router.post(
        "/runs/{run_id}/resume", response_model=RunAnswer, responses=error_responses(404, 409)
    )
    async def resume(run_id: RunId, platform: ThePlatform) -> Response:
        """Let an interrupted run wait for a slot again and go on from its checkpoint."""
        await platform.database.read(_check_goes_on, run_id)
        await platform.database.write(
            set_state, run_id, State.SUBMITTED, only_from=frozenset({State.INTERRUPTED})
        )
        await platform.execution.resume(run_id)
        return await platform.database.read(run_answer, run_id)
