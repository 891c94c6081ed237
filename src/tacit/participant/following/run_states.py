"""What state a run of a series is in on a participant's machine, and what is done next.

========  ==========================================  ===========  ================================
state     when                                        action       remembered, and where
========  ==========================================  ===========  ================================
TO_SIGN   invited, and not signed in this process     `_sign`      record and agreement, before the
                                                                   signature leaves
TO_SEAL   agreed, and costs of ours are missing       `_seal`      manifests and hashes of rows,
                                                                   before the boxes leave
PAUSED    interrupted: it may go on, and end with     `_pause`     that its logs were in order at
          another plan                                             the last look, in memory
TO_SHOW   ended, plan not shown or not stored         `_show`      the plan; `stored` in the record
TO_CHECK  ended, logs not checked                     `_check`     `checked` and what it counted for
                                                                   in the record; `stopped`, for all
IDLE      nothing to do now                           none
========  ==========================================  ===========  ================================

A run usually goes from the first state to the last, but the platform says where it is, and may say
anything in any order: so a state never follows from the one before. After a kill the next process
finds the state again from the platform's word and the records on the disk. Every action may then
be repeated: what was signed is signed again with the same bytes, costs that the nodes have are not
sealed again, a plan that was stored replaces itself, and logs are checked anew.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum, auto

AGAIN_SECONDS = 60.0
"""So long after it failed something is not tried again, unless the costs are other ones."""


class RunState(Enum):
    """What is next for a run on this machine; the table above says what it is."""

    TO_SIGN = auto()
    TO_SEAL = auto()
    PAUSED = auto()
    TO_SHOW = auto()
    TO_CHECK = auto()
    IDLE = auto()


class Logs(Enum):
    """What this process knows of a run's logs; that they were checked is on the disk."""

    UNKNOWN = auto()
    IN_ORDER = auto()
    """So far: the run is interrupted, and they were in order at the last look."""
    MISSING = auto()
    """The run has ended with costs of ours in it, and its logs could not be had."""


@dataclass
class RunProgress:
    """What this process remembers of one run, besides its record on the disk."""

    claimed: str = ""
    """What the platform called it when it was last listed."""
    signed: bool = False
    sealed: bool = False
    """Whether the nodes have accepted all of our costs."""
    presented: bool = False
    """Whether its plan was shown, and stored where that is wanted."""
    logs: Logs = Logs.UNKNOWN
    done: bool = False
    """Whether it has ended and nothing is left to do; old runs are not looked at again."""
    refused: str = ""
    """Why this machine does not sign it, or does not go on with it."""
    undone: dict[str, str] = field(default_factory=dict)
    """What failed by no fault of the others, as on a full disk, and why."""
    tried: dict[int, str] = field(default_factory=dict)
    """Per objective the hash of the file of costs that was tried last."""
    _not_before: dict[str, float] = field(default_factory=dict)

    def may(self, action: str) -> bool:
        """Whether an action did not fail a short while ago."""
        return time.monotonic() >= self._not_before.get(action, 0.0)

    def put_off(self, action: str) -> None:
        """Leave an action alone for a while."""
        self._not_before[action] = time.monotonic() + AGAIN_SECONDS

    def retry_now(self) -> None:
        """Put nothing off any longer."""
        self._not_before.clear()
