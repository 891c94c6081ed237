"""Provisioning the nodes with a run: the agreement, then the sealed rows, then the check.

Nodes may be away, so everything is retried, more and more slowly; nodes take the same thing twice,
so nothing is lost if the platform dies in between. What the nodes say of somebody's rows is stored
for that participant, which may then seal them again.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from tacit.coordinator import Coordinator
from tacit.errors import EngineError, MpcError, RefusedError, TacitError, WrongStateError
from tacit.records import RefusalKind
from tacit.service.execution.agreed_runs import StoredAgreement, stored_agreement
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.patience import AGAIN, Patience
from tacit.service.execution.retry_until_written import retry_until_written
from tacit.service.storage import (
    Database,
    StoredBoxes,
    add_warning,
    set_state,
    set_submission_state,
)

HAND_OVER_SECONDS = 10.0
PREPARE_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
WARN_AFTER = 4
"""After so many failures in a row the run gets a warning."""
log = logging.getLogger("tacit.service.execution")


class Provisioner:
    """Between one run and its nodes, from `agreed` to `submitted`."""

    def __init__(self, run_id: str, links: ClusterLinks, database: Database, /) -> None:
        self._run_id, self._links, self._database = run_id, links, database
        self._delivered: set[tuple[str, int, bytes]] = set()
        self._is_agreed = False
        self._news = asyncio.Event()
        self._news.set()

    def look_again(self) -> None:
        """There may be new rows."""
        self._news.set()

    async def hand_over(self) -> bool:
        """Work until the run is `submitted`; False if it came to another end."""
        pause, failures, patience = FIRST_PAUSE, 0, Patience()
        while True:
            await self._news.wait()
            # Cleared before the work: rows that come meanwhile set it again.
            self._news.clear()
            try:
                if await self._once():
                    return True
                pause, failures = FIRST_PAUSE, 0
            except WrongStateError:
                return False  # it was cancelled meanwhile
            except Exception as error:
                if isinstance(error, EngineError) and not _may_pass(error):
                    await self._fail(str(error))
                    return False
                if patience.is_over(error):
                    await self._fail(f"{error}; {AGAIN}")
                    return False
                # A node that is away, mostly; if it is an internal error, the run is not lost.
                failures += 1
                await self._note_trouble(error, failures)
                self._news.set()
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _note_trouble(self, error: BaseException, failures: int) -> None:
        what = str(error) or "a node did not answer in time"
        fields = {"run": self._run_id, "what": what, "failures": failures}
        is_known = isinstance(error, TacitError | TimeoutError | OSError)
        log.warning(
            "provisioning is retried",
            exc_info=None if is_known else error,
            extra={"fields": fields},
        )
        if failures == WARN_AFTER:
            warning = f"the nodes could not be given everything yet: {what}"
            await retry_until_written(
                lambda: self._database.write(add_warning, self._run_id, warning), run=self._run_id
            )

    async def _fail(self, reason: str) -> None:
        try:
            await retry_until_written(
                lambda: self._database.write(set_state, self._run_id, "failed", reason=reason),
                run=self._run_id,
            )
        except WrongStateError:
            return  # it has come to another end meanwhile

    async def _once(self) -> bool:
        stored = await self._database.read(stored_agreement, self._run_id)
        coordinator = self._links.coordinator(stored)
        if not self._is_agreed:
            await coordinator.start_agreement(
                stored.signatures, within=HAND_OVER_SECONDS, series=stored.series
            )
            self._is_agreed = True
            await self._links.look()
            for warning in self._links.clock_warnings().values():
                await self._database.write(add_warning, self._run_id, warning)
        for each in stored.rows:
            if each.state != "refused" and each.key not in self._delivered:
                await self._deliver(coordinator, each)
        stored = await self._database.read(stored_agreement, self._run_id)
        # New ones may have come meanwhile, which set the event again.
        if not stored.is_complete or any(each.key not in self._delivered for each in stored.rows):
            return False
        if not await self._prepare(coordinator, stored):
            return False
        # Only now may the run wait for a slot: the nodes have the same inputs and have frozen them,
        # so nobody can change a weight after it has seen anything of the search.
        await self._database.write(set_state, self._run_id, "submitted")
        return True

    async def _deliver(self, coordinator: Coordinator, each: StoredBoxes) -> None:
        submit = partial(coordinator.submission, each.rows)
        try:
            await coordinator.ask_all(submit, within=HAND_OVER_SECONDS)
        except RefusedError as error:
            if error.kind == RefusalKind.ROWS:
                await self._refused(each.participant, each.objective, error.reason)
                return
            if error.kind != RefusalKind.OTHER_ROWS:
                raise  # which is not the participant's affair
            # A node has other rows of this participant, which the check finds and drops.
        self._delivered.add(each.key)
        if each.state == "waiting":
            await self._database.write(
                set_submission_state,
                self._run_id,
                each.participant,
                "accepted",
                objective=each.objective,
            )

    async def _refused(self, participant: str, objective: int, reason: str) -> None:
        self._delivered = {key for key in self._delivered if key[:2] != (participant, objective)}
        await self._database.write(
            set_submission_state,
            self._run_id,
            participant,
            "refused",
            reason=reason,
            objective=objective,
        )

    async def _prepare(self, coordinator: Coordinator, stored: StoredAgreement) -> bool:
        """Have everything checked and frozen; False if somebody has to seal again."""
        until = asyncio.get_running_loop().time() + PREPARE_SECONDS
        for objective in stored.agreement.confidential():
            try:
                await coordinator.prepare(objective, until=until)
            except RefusedError as error:
                if error.kind == RefusalKind.OUTSIDE:
                    for participant in error.participants:
                        await self._refused(participant, objective, error.reason)
                    return False
                if error.kind not in (RefusalKind.DIFFERS, RefusalKind.MISSING):
                    raise
                # The nodes have dropped what differed; they get it again.
                self._delivered = {key for key in self._delivered if key[1] != objective}
                raise MpcError(f"the nodes had different rows: {error.reason}") from None
        return True


def _may_pass(error: EngineError) -> bool:
    passing = (RefusalKind.FULL, RefusalKind.PACE)
    return isinstance(error, RefusedError) and error.kind in passing
