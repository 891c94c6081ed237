"""What an evaluation is, for all who take part in it: nodes and coordinator derive it alike."""

from __future__ import annotations

from tacit.mpc import Context


def bound_context(
    agreement: bytes,
    objective: int,
    number: int,
    /,
    *,
    epoch: int,
    attempt: int,
    request: bytes,
    basis: str = "",
) -> Context:
    """The context of one attempt, bound to its epoch and to the best so far that it builds on.

    Nodes that were told another epoch or another basis have other tags and other masks, so their
    first message fails. Without the epoch, two epochs whose keys are mixed would share both.

    >>> one, two = (bound_context(bytes(32), 0, 1, epoch=e, attempt=0, request=bytes(32))
    ...             for e in (1, 2))
    >>> one.tag == two.tag
    False
    """
    told = request + epoch.to_bytes(8, "little") + basis.encode()
    return Context(agreement, objective, number, attempt, told)
