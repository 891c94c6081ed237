"""One node's link to another node, and the question whether the other is still there.

An evaluation that stalls is no sign of a broken link: perhaps the platform asked only one of the
nodes. So a link is given up only if the peer does not answer on the link itself.
"""

from __future__ import annotations

import asyncio

from tacit.engine.messages import TALK
from tacit.errors import PeerError, PeerTimeoutError
from tacit.mpc.transport import Mux

QUIET_SECONDS = 3600.0
ANSWER_SECONDS = 5.0
_QUESTION, _ANSWER = b"there?", b"here"


class PeerLine:
    """A link between two nodes. `listen` must run for as long as it is used.

    >>> from tacit.mpc.transport import memory_pair
    >>> async def ask() -> bool:
    ...     ends = [PeerLine(Mux(link)) for link in memory_pair("node 0", "node 1")]
    ...     tasks = [asyncio.ensure_future(line.listen()) for line in ends]
    ...     answer = await ends[0].answers()
    ...     for line in ends:
    ...         await line.mux.close()
    ...     await asyncio.gather(*tasks)
    ...     return answer
    >>> asyncio.run(ask())
    True
    """

    def __init__(self, mux: Mux) -> None:
        self.mux = mux
        self._talk = mux.open(TALK)
        self._asked: asyncio.Future[None] | None = None

    async def listen(self) -> str:
        """Answer the peer's questions until the link breaks, and say why it did."""
        while True:
            try:
                frame = await self._talk.receive(timeout=QUIET_SECONDS)
                said = bytes(frame.payload[: len(_QUESTION)])
                if said == _QUESTION:
                    await self._talk.send(1, _ANSWER, timeout=ANSWER_SECONDS)
            except PeerTimeoutError:
                continue
            except PeerError as error:
                return error.what
            if said == _ANSWER and self._asked is not None and not self._asked.done():
                self._asked.set_result(None)

    async def answers(self, *, timeout: float = ANSWER_SECONDS) -> bool:
        """Whether the peer answers in time; whoever asks meanwhile waits for the same answer."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.get_running_loop().create_future()
            try:
                await self._talk.send(1, _QUESTION, timeout=timeout)
            except PeerError:
                return False
        done, _ = await asyncio.wait([self._asked], timeout=timeout)
        return bool(done)
