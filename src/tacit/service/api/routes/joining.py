"""Join with a code; who am I; give a token back; is the platform there."""

from __future__ import annotations

from contextlib import suppress

from fastapi import APIRouter

import tacit
from tacit.errors import TacitError
from tacit.service.access.invitations import JoiningKey
from tacit.service.access.tokens import revoke_token
from tacit.service.api.errors import error_responses
from tacit.service.api.gate import Asker, ThePlatform, gated_router
from tacit.service.api.shapes.accounts import Join, Joined, Me
from tacit.service.api.shapes.general import Health
from tacit.service.workflow.inviting import join, undrafted_runs
from tacit.service.workflow.series_lifecycle import draw_up_series, undrafted_series


def joining_router() -> list[APIRouter]:
    """The routes of joining."""
    anonymous = gated_router("joining", anonymous=True)
    known = gated_router("joining")

    @anonymous.get("/health")
    async def health() -> Health:
        """Whether the platform works."""
        return Health(status="ok", version=tacit.__version__)

    @anonymous.post("/join", responses=error_responses(401, 409, 422))
    async def join_with_code(body: Join, platform: ThePlatform) -> Joined:
        """Turn a one-time code into a token; a participant brings its signing key, and proof."""
        token, expires, account = await platform.database.write(
            join,
            platform.settings,
            body.code,
            key=None
            if body.signing_key is None
            else JoiningKey(
                body.signing_key,
                bytes.fromhex(body.signature or ""),
                account=body.account or "",
                platform=body.platform or "",
            ),
            label=body.label,
        )
        for series_id in await platform.database.read(undrafted_series, account.name):
            # Whoever joins has used its code by now; the schedule says what is wrong.
            with suppress(TacitError):
                await platform.database.write(draw_up_series, platform.settings, series_id)
        for run_id in await platform.database.read(undrafted_runs, account.name):
            await platform.execution.draw_up(run_id)
        return Joined.model_validate(
            {"token": token, "account": account.name, "role": account.role, "expires": expires}
        )

    @known.get("/me")
    async def me(who: Asker) -> Me:
        """Whose token this is."""
        return Me.model_validate(who, from_attributes=True)

    @known.delete("/me/token", status_code=204)
    async def give_back(who: Asker, platform: ThePlatform) -> None:
        """Revoke the token that this request shows."""
        await platform.database.write(revoke_token, who.token_hash)

    return [anonymous, known]
