"""Store what the processes of runs write: those of all runs in one transaction.

An entry of a ledger counts only once it is stored, so each evaluation of each run waits for the
database. One commit for all that wait makes that cheap, however many runs there are.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from sqlalchemy.orm import Session

from tacit.errors import StorageError
from tacit.service.storage import Database, FilePart, RunClaim, fences_held, store_part
from tacit.supervisor import Supervisor

PAUSE_SECONDS = 0.2
"""After a failure; meanwhile whoever waits goes on waiting."""
FLUSH_SECONDS = 2.0
log = logging.getLogger("tacit.service.execution")


@dataclass(frozen=True, slots=True)
class _Waiting:
    claim: RunClaim
    part: FilePart
    stored: Callable[[int], None]
    refused: Callable[[str], None]


class RunFiles:
    """What is to be stored of the files of all runs."""

    def __init__(self, database: Database, lost: Callable[[str, int], None], /) -> None:
        """`lost` is called with a run that another process has taken over."""
        self._database, self._lost = database, lost
        self._waiting: list[_Waiting] = []
        self._news = asyncio.Event()
        self._batches: deque[list[_Waiting]] = deque()
        """Those being written, which stay until they are stored or refused."""

    def start(self, tasks: Supervisor, /) -> None:
        """Store what comes, for as long as the platform runs."""
        tasks.until_done("files of runs", self._work)

    def add(
        self,
        claim: RunClaim,
        part: FilePart,
        /,
        *,
        stored: Callable[[int], None],
        refused: Callable[[str], None],
    ) -> None:
        """Store a part in its turn; `stored` is called with its number if it has one.

        If the database takes no such part, `refused` is called with the reason, and nothing else of
        this claim is stored.
        """
        self._waiting.append(_Waiting(claim, part, stored, refused))
        self._news.set()

    def unstored(self, claim: RunClaim, /) -> list[FilePart]:
        """What of a run is not known to be stored yet; storing it twice changes nothing."""
        waiting = [*chain.from_iterable([*self._batches]), *self._waiting]
        return [each.part for each in waiting if each.claim == claim]

    async def flush(self) -> None:
        """Wait a moment for what was added to be stored."""
        until = asyncio.get_running_loop().time() + FLUSH_SECONDS
        while (self._waiting or self._batches) and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(PAUSE_SECONDS / 10)

    async def _work(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            batches, self._waiting = deque([self._waiting]), []
            self._batches = batches
            try:
                while batches:
                    await self._store_first(batches)
            except BaseException as error:
                # Nothing may be lost, since whoever waits would do so for ever.
                self._waiting = [*chain.from_iterable(batches), *self._waiting]
                self._news.set()
                if not isinstance(error, StorageError):
                    raise
                fields = {"what": str(error)}
                log.warning("files of runs are not stored yet", extra={"fields": fields})
                await asyncio.sleep(PAUSE_SECONDS)
            finally:
                self._batches = deque()

    async def _store_first(self, batches: deque[list[_Waiting]]) -> None:
        """Store the first batch and take it away; one that is refused is divided by its claims."""
        batch = batches[0]
        try:
            held = await self._database.write(_store, batch)
        except StorageError:
            raise
        except Exception as error:
            # The database works and refuses the data of some run, or all of them. Trying the same
            # once more would stop the files of every run.
            batches.popleft()
            by_claim: dict[RunClaim, list[_Waiting]] = {}
            for each in batch:
                by_claim.setdefault(each.claim, []).append(each)
            if len(by_claim) > 1:
                batches.extendleft(reversed(by_claim.values()))
            else:
                self._refuse(batch, error)
            return
        batches.popleft()
        for each in batch:
            if each.claim not in held:
                self._lost(each.claim.run_id, each.claim.fence)
            elif each.part.number:
                each.stored(each.part.number)

    def _refuse(self, batch: list[_Waiting], error: Exception) -> None:
        """Give up the files of one claim: what came after a part that is missing is worth nothing.

        A ledger with a hole could not be resumed from.
        """
        first = batch[0]
        fields = {"run": first.claim.run_id}
        log.error("files of a run are refused", exc_info=error, extra={"fields": fields})
        self._waiting = [each for each in self._waiting if each.claim != first.claim]
        what = next(iter(str(error).splitlines()), type(error).__name__)
        first.refused(f"the database takes no more of its files ({what}); see the platform's log")


def _store(session: Session, waiting: list[_Waiting]) -> set[RunClaim]:
    """Store the parts of runs that are still ours; returns which claims those are."""
    claims = {each.claim for each in waiting}
    newest: dict[str, RunClaim] = {}
    for claim in sorted(claims, key=lambda claim: claim.fence):
        newest[claim.run_id] = claim
    held_runs = fences_held(session, {name: claim.fence for name, claim in newest.items()})
    held = {newest[run_id] for run_id in held_runs}
    for each in waiting:
        if each.claim in held:
            store_part(session, each.claim.run_id, each.part)
    return held
