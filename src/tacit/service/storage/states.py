"""Define the states of a run and the steps between them.

::

    draft -> invited -> agreed -> submitted -> running -> finished
                                      ^           |-----> failed
                                      |           v
                                      +------ interrupted

and `cancelled` from every state before an end. A run can also fail before it runs, when its nodes
refuse it or its agreement expires.
"""

from __future__ import annotations

from tacit.client import RunState
from tacit.errors import WrongStateError

BEFORE_RUNNING: frozenset[RunState] = frozenset({"draft", "invited", "agreed", "submitted"})
"""Until then a participant may withdraw."""

TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    "draft": frozenset({"invited", "cancelled"}),
    # From here on participants are involved. Whatever they signed stays as it is: nothing leads
    # back, and a run with other terms is another run.
    "invited": frozenset({"agreed", "failed", "cancelled"}),
    "agreed": frozenset({"submitted", "failed", "cancelled"}),
    "submitted": frozenset({"running", "failed", "cancelled"}),
    "running": frozenset({"finished", "interrupted", "failed", "cancelled"}),
    # The nodes still have the inputs and the counter of evaluations, so the run goes on from its
    # checkpoint and no evaluation number is used twice. After the other ends they delete both.
    "interrupted": frozenset({"submitted"}),
    "finished": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}


def check_transition(before: RunState, after: RunState, /) -> None:
    """Refuse a step that no run may take."""
    if after not in TRANSITIONS[before]:
        possible = " or ".join(sorted(TRANSITIONS[before])) or "nothing"
        raise WrongStateError(f"the run is {before} and cannot become {after}; {possible} follows")


def check_state(state: RunState, allowed: frozenset[RunState], /, *, to: str) -> None:
    """Refuse something that a run in this state does not allow.

    >>> check_state("running", BEFORE_RUNNING, to="withdraw")
    Traceback (most recent call last):
    tacit.errors.WrongStateError: the run is running; to withdraw it must be agreed, draft, \
invited or submitted
    """
    if state not in allowed:
        *some, last = sorted(allowed)
        text = f"{', '.join(some)} or {last}" if some else last
        raise WrongStateError(f"the run is {state}; to {to} it must be {text}")
