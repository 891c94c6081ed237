"""Provisioning the nodes with a run: the agreement, then the sealed rows, then the check.

Nodes may be away, so everything is retried; nodes take the same thing twice, so nothing is lost if
this process dies in between. What the nodes say of somebody's rows is stored
for that participant, which may then seal them again.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial

from sqlalchemy import update
from sqlalchemy.orm import Session

from tacit.coordinator import Coordinator
from tacit.errors import (
    EngineError,
    FencedError,
    MpcError,
    RefusedError,
    TacitError,
    WrongStateError,
)
from tacit.records import RefusalKind
from tacit.service.execution.agreed_runs import StoredAgreement, stored_agreement
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.held_run import HeldRun
from tacit.service.execution.patience import AGAIN, Patience
from tacit.service.storage import (
    Run,
    StoredBoxes,
    add_trouble,
    end_trouble,
    set_state,
    set_submission_state,
)

HAND_OVER_SECONDS = 10.0
PREPARE_SECONDS = 60.0
WARN_AFTER = 4
"""After so many failures in a row the run gets a warning."""
log = logging.getLogger("tacit.service.execution")


class Provisioner:
    """Between one run and its nodes, from `agreed` to `submitted`; knows what these have."""

    def __init__(self, run_id: str, links: ClusterLinks, /) -> None:
        self._run_id, self._links = run_id, links
        self._delivered: set[tuple[str, int, bytes]] = set()
        self._is_agreed = False
        self._failures, self._patience = 0, Patience()
        self.is_over = False
        """Whether the run is `submitted`, or came to another end."""

    async def hand_over(self, run: HeldRun, /) -> bool:
        """Hand over what there is; False if it has to be tried again."""
        try:
            self.is_over = await self._once(run)
            if self._failures >= WARN_AFTER:
                await run.write(end_trouble, self._run_id)
            self._failures = 0
        except FencedError:
            raise
        except WrongStateError:
            self.is_over = True  # it was cancelled meanwhile
        except Exception as error:
            if isinstance(error, EngineError) and not _may_pass(error):
                await self._fail(run, str(error))
            elif self._patience.is_over(error):
                await self._fail(run, f"{error}; {AGAIN}")
            else:
                # A node that is away, mostly; if it is an internal error, the run is not lost.
                await self._note_trouble(run, error)
                return False
        return True

    async def _note_trouble(self, run: HeldRun, error: BaseException) -> None:
        self._failures += 1
        what = str(error) or "a node did not answer in time"
        fields = {"run": self._run_id, "what": what, "failures": self._failures}
        is_known = isinstance(error, TacitError | TimeoutError | OSError)
        log.warning(
            "provisioning is retried",
            exc_info=None if is_known else error,
            extra={"fields": fields},
        )
        if self._failures == WARN_AFTER:
            warning = f"the nodes could not be given everything yet: {what}"
            await run.write_surely(add_trouble, self._run_id, warning)

    async def _fail(self, run: HeldRun, reason: str) -> None:
        self.is_over = True
        with suppress(WrongStateError):  # it has come to another end meanwhile
            await run.write_surely(set_state, self._run_id, "failed", reason=reason)

    async def _once(self, run: HeldRun) -> bool:
        stored = await run.read(stored_agreement, self._run_id)
        coordinator = self._links.coordinator(stored, fence=run.claim.fence)
        if not self._is_agreed:
            await coordinator.start_agreement(
                stored.signatures, within=HAND_OVER_SECONDS, series=stored.series
            )
            await self._links.look()
            for warning in self._links.clock_warnings().values():
                await run.warn(warning)
            await run.write(set_at_nodes, self._run_id)
            # Only now: until it is stored, the run is claimed again at once.
            self._is_agreed = True
        for each in filter(self._is_left, stored.rows):
            await self._deliver(run, coordinator, each)
        stored = await run.read(stored_agreement, self._run_id)
        # New ones may have come meanwhile, for which the run is claimed again.
        if not stored.is_complete or any(map(self._is_left, stored.rows)):
            return False
        if not await self._prepare(run, coordinator, stored):
            return False
        # Only now may the run wait for a slot: the nodes have the same inputs and have frozen them,
        # so nobody can change a weight after it has seen anything of the search.
        await run.write(set_state, self._run_id, "submitted")
        return True

    def _is_left(self, rows: StoredBoxes) -> bool:
        """Whether nodes lack these rows, or it was not stored that they have them.

        The run of rows that wait is claimed again and again, so those are delivered once more.
        """
        is_new = rows.key not in self._delivered and rows.state != "refused"
        return is_new or rows.state == "waiting"

    async def _deliver(self, run: HeldRun, coordinator: Coordinator, each: StoredBoxes) -> None:
        submit = partial(coordinator.submission, each.rows)
        try:
            await coordinator.ask_all(submit, within=HAND_OVER_SECONDS)
        except RefusedError as error:
            if error.kind == RefusalKind.ROWS:
                await self._refused(run, each.participant, each.objective, error.reason)
                return
            if error.kind != RefusalKind.OTHER_ROWS:
                raise  # which is not the participant's affair
            # A node has other rows of this participant, which the check finds and drops.
        self._delivered.add(each.key)
        if each.state == "waiting":
            await run.write(
                set_submission_state,
                self._run_id,
                each.participant,
                "accepted",
                objective=each.objective,
            )

    async def _refused(self, run: HeldRun, participant: str, objective: int, reason: str) -> None:
        self._delivered = {key for key in self._delivered if key[:2] != (participant, objective)}
        await run.write(
            set_submission_state,
            self._run_id,
            participant,
            "refused",
            reason=reason,
            objective=objective,
        )

    async def _prepare(
        self, run: HeldRun, coordinator: Coordinator, stored: StoredAgreement
    ) -> bool:
        """Have everything checked and frozen; False if somebody has to seal again."""
        until = asyncio.get_running_loop().time() + PREPARE_SECONDS
        for objective in stored.agreement.confidential():
            try:
                await coordinator.prepare(objective, until=until)
            except RefusedError as error:
                if error.kind == RefusalKind.OUTSIDE:
                    for participant in error.participants:
                        await self._refused(run, participant, objective, error.reason)
                    return False
                if error.kind not in (RefusalKind.DIFFERS, RefusalKind.MISSING):
                    raise
                # The nodes have dropped what differed; they get it again.
                self._delivered = {key for key in self._delivered if key[1] != objective}
                raise MpcError(f"the nodes had different rows: {error.reason}") from None
        return True


def set_at_nodes(session: Session, run_id: str, /) -> None:
    """Store that the nodes have a run's agreement."""
    session.execute(update(Run).where(Run.id == run_id).values(at_nodes=True))


def _may_pass(error: EngineError) -> bool:
    passing = (RefusalKind.FULL, RefusalKind.PACE, RefusalKind.FENCED)
    return isinstance(error, RefusedError) and error.kind in passing
