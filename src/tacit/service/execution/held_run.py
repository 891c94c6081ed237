"""A run that this process has: whatever is written for it is written only while that is so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy.orm import Session

from tacit.errors import StorageError, TacitError
from tacit.service.storage import Database, RunClaim, add_trouble, add_warning, check_fence

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
log = logging.getLogger("tacit.service.execution")


async def retry_until_written(write: Callable[[], Awaitable[T]], /, *, run: str) -> T:
    """Write until it is written, however long a full disk or a lost server takes.

    What we refuse ourselves, such as a state that does not allow it, is not tried again.
    """
    pause = FIRST_PAUSE
    while True:
        try:
            return await write()
        except StorageError as error:
            log.error("not written yet", extra={"fields": {"run": run, "what": str(error)}})
        except TacitError:
            raise
        except Exception as error:
            log.error("not written yet", exc_info=error, extra={"fields": {"run": run}})
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


class HeldRun:
    """Writes for one run under its claim; a `FencedError` says that another process has it now."""

    def __init__(self, database: Database, claim: RunClaim, /) -> None:
        self.claim, self.id, self.cluster = claim, claim.run_id, claim.cluster
        self._database = database

    async def read(
        self,
        query: Callable[Concatenate[Session, P], T],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        return await self._database.read(query, *arguments, **options)

    async def write(
        self,
        query: Callable[Concatenate[Session, P], T],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run a query that changes something, in a transaction of its own, if the run is ours."""

        def write(session: Session) -> T:
            check_fence(session, self.claim)
            return query(session, *arguments, **options)

        return await self._database.write(write)

    async def write_surely(
        self,
        query: Callable[Concatenate[Session, P], T],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Write until it is written, however long the database is away."""
        return await retry_until_written(
            lambda: self.write(query, *arguments, **options), run=self.id
        )

    async def answer(self, query: Callable[[Session], T], /) -> T:
        """Write what is due, before all others that wait, however long the database is away."""

        def write(session: Session) -> T:
            check_fence(session, self.claim)
            return query(session)

        return await retry_until_written(lambda: self._database.write_first(write), run=self.id)

    async def correct(
        self,
        query: Callable[Concatenate[Session, P], T],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Write something about a run that we have ended, whoever tells its nodes by now."""
        return await retry_until_written(
            lambda: self._database.write(query, *arguments, **options), run=self.id
        )

    async def trouble(self, message: str, /) -> None:
        """Say what holds the run up, until it goes on."""
        await self.write(add_trouble, self.id, message)

    async def warn(self, message: str, /) -> None:
        await self.write(add_warning, self.id, message)
