"""What is handed on as one file: invitations, and all that it takes to check a run."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Response

from tacit.service.api.errors import error_responses
from tacit.service.api.gate import Asker, RunId, ThePlatform, gated_router
from tacit.service.api.routes.results import whole_lines
from tacit.service.api.shapes.accounts import InvitationAnswer
from tacit.service.api.terms import ParticipantName
from tacit.service.execution.report import run_folder
from tacit.service.workflow.bundling import ended_run, kept_bundle, make_bundle
from tacit.service.workflow.invitation_files import invite_to_run
from tacit.verify import bundle_nonce

_ZIP = {"application/zip": {"schema": {"type": "string", "format": "binary"}}}


def bundles_router() -> APIRouter:
    """The routes of files that are handed on."""
    router = gated_router("files")

    @router.post(
        "/runs/{run_id}/invitations/{name}",
        status_code=201,
        responses=error_responses(404, 409),
    )
    async def invitation(
        run_id: RunId, name: Annotated[ParticipantName, Path()], platform: ThePlatform
    ) -> InvitationAnswer:
        """A new invitation for a participant of a run, as the file that it joins with.

        Its earlier codes end. The file works once, for whoever has it.
        """
        made = await platform.database.write(invite_to_run, platform.settings, run_id, name)
        return InvitationAnswer.model_validate(made, from_attributes=True)

    @router.get(
        "/runs/{run_id}/bundle",
        response_class=Response,
        responses={
            200: {"content": _ZIP, "description": "Agreement, result, ledger and logs."},
            **error_responses(404, 409, 422, 503),
        },
    )
    async def bundle(run_id: RunId, who: Asker, platform: ThePlatform) -> Response:
        """All that it takes to check a run that has ended, as one ZIP file.

        From a minute after its end it is the same file for everybody.
        """
        ended = await platform.database.read(ended_run, run_id)
        folder = run_folder(platform.settings.data_folder, run_id)
        async with platform.logs.of(who.account):
            data = await asyncio.to_thread(kept_bundle, folder, ended)
            if data is None:
                # The ledger comes first: whatever it has must then be in the logs.
                ledger = await asyncio.to_thread(list, whole_lines(folder / "ledger.jsonl"))
                nonce = bundle_nonce(ended.agreement)
                logs = await platform.execution.fetch_logs(run_id, nonce)
                data = await asyncio.to_thread(make_bundle, folder, ended, logs, ledger)
        headers = {"Content-Disposition": f'attachment; filename="{run_id}.zip"'}
        return Response(data, media_type="application/zip", headers=headers)

    return router
