"""Write to the database until it works, however long it is away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tacit.errors import StorageError, TacitError

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
