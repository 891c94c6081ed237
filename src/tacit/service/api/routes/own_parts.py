"""The boxes of a plan that is for its owners: each participant gets its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fastapi import APIRouter

from tacit.engine.agreement import Agreement, carried_parts, count_searches, read_agreement
from tacit.engine.records import PlanParts
from tacit.errors import WrongStateError
from tacit.service.api.errors import error_responses
from tacit.service.api.gate import Asker, RunId, ThePlatform, gated_router
from tacit.service.api.shapes.results import PartsAnswer
from tacit.service.execution.report import run_folder
from tacit.service.storage import read_run
from tacit.service.workflow.lifecycle import ENDS, check_state
from tacit.service.workflow.submitting import agreement_bytes


def _own_parts(agreement: Agreement, folder: Path, account: str) -> PartsAnswer:
    if not agreement.for_owners:
        raise WrongStateError("the plan is for everybody; ask for the result")
    kept = PlanParts(folder)
    names = [each.name for each in agreement.participants]
    found = [kept.of(search) or [] for search in range(count_searches(agreement))]
    own = [carried_parts(sealed, names.index(account)) for sealed in found]
    return PartsAnswer.model_validate({"searches": own}, from_attributes=True)


def own_parts_router() -> APIRouter:
    """The route of one's own part."""
    router = gated_router("results")

    @router.get("/runs/{run_id}/parts", responses=error_responses(404, 409))
    async def parts(run_id: RunId, who: Asker, platform: ThePlatform) -> PartsAnswer:
        """The boxes with one's own part of a plan that is for its owners."""
        run = await platform.database.read(read_run, run_id)
        check_state(run.where, ENDS, to="have a result")
        data, _ = await platform.database.read(agreement_bytes, run_id)
        folder = run_folder(platform.settings.data_folder, run_id)
        return await asyncio.to_thread(_own_parts, read_agreement(data), folder, who.account)

    return router
