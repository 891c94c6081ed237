"""The states of a run and the ways between them, as plain data.

::

    draft -> invited -> agreed -> submitted -> running -> finished
                                      ^           |-----> failed
                                      |           v
                                      +------ interrupted

and `cancelled` from every state before an end. A run can also fail before it runs, when its nodes
refuse it or its agreement expires.
"""

from __future__ import annotations

from enum import StrEnum

from tacit.errors import WrongStateError


class State(StrEnum):
    """Where a run stands."""

    DRAFT = "draft"
    INVITED = "invited"
    AGREED = "agreed"
    SUBMITTED = "submitted"
    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_end(self) -> bool:
        """Whether the run is over; an interrupted one can be resumed."""
        return self in ENDS


ENDS = frozenset({State.FINISHED, State.INTERRUPTED, State.FAILED, State.CANCELLED})
BEFORE_RUNNING = frozenset({State.DRAFT, State.INVITED, State.AGREED, State.SUBMITTED})
"""Until then a participant may withdraw."""

TRANSITIONS: dict[State, frozenset[State]] = {
    State.DRAFT: frozenset({State.INVITED, State.CANCELLED}),
    State.INVITED: frozenset({State.AGREED, State.FAILED, State.CANCELLED}),
    State.AGREED: frozenset({State.SUBMITTED, State.FAILED, State.CANCELLED}),
    State.SUBMITTED: frozenset({State.RUNNING, State.FAILED, State.CANCELLED}),
    State.RUNNING: frozenset(
        {State.FINISHED, State.INTERRUPTED, State.FAILED, State.CANCELLED},
    ),
    State.INTERRUPTED: frozenset({State.SUBMITTED}),
    State.FINISHED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}


def check_transition(before: State, after: State, /) -> None:
    """Refuse a step that no run may take."""
    if after not in TRANSITIONS[before]:
        possible = " or ".join(sorted(TRANSITIONS[before])) or "nothing"
        raise WrongStateError(f"the run is {before} and cannot become {after}; {possible} follows")


def check_state(state: State, allowed: frozenset[State], /, *, to: str) -> None:
    """Refuse something that a run in this state does not allow.

    >>> check_state(State.RUNNING, BEFORE_RUNNING, to="withdraw")
    Traceback (most recent call last):
    tacit.errors.WrongStateError: the run is running; to withdraw it must be agreed, draft, \
invited or submitted
    """
    if state not in allowed:
        *some, last = sorted(allowed)
        text = f"{', '.join(some)} or {last}" if some else last
        raise WrongStateError(f"the run is {state}; to {to} it must be {text}")
