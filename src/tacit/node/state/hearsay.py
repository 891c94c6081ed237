"""What a node takes over from its peers when an epoch begins: what enough of them say.

Of four nodes one may lie, so two peers must say the same: that includes an honest one. What was
computed by all is known to every honest node, so nothing of it is missed; what only one peer knows
is asked for again. Three nodes trust each other, and one peer's word is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from tacit.node.state.derivation import History
from tacit.wire.answer import Answer
from tacit.wire.attempt import Attempt

Numbers = dict[int, list[tuple[int, bytes]]]
"""Per objective, used evaluation numbers with the hashes of their requests."""
_READ = msgspec.msgpack.Decoder(Answer)


def _enough(peers: int) -> int:
    """How many of so many peers must say the same."""
    return max(1, peers - 1)


def used_numbers(told: Sequence[Numbers], /) -> Numbers:
    """The numbers that enough peers have used, with the requests that enough of them name.

    >>> used_numbers([{0: [(1, b"a"), (2, b"b")]}, {0: [(1, b"a")]}, {0: [(1, b"x"), (99, b"")]}])
    {0: [(1, b'a')]}
    """
    enough, found = _enough(len(told)), Numbers()
    for objective in sorted({k for each in told for k in each}):
        said: dict[int, Counter[bytes]] = {}
        for each in told:
            for number, request in dict(each.get(objective, [])).items():
                said.setdefault(number, Counter())[request] += 1
        found[objective] = [
            (number, _named(requests, enough))
            for number, requests in sorted(said.items())
            if requests.total() >= enough
        ]
    return {objective: numbers for objective, numbers in found.items() if numbers}


def _named(requests: Counter[bytes], enough: int) -> bytes:
    named = (request for request, votes in requests.most_common() if request and votes >= enough)
    return next(named, b"")


def bound_searches(told: Sequence[Mapping[int, Attempt]], /) -> list[tuple[int, Attempt]]:
    """The sealed searches of which enough peers are bound to a plan.

    >>> bound_searches([{0: Attempt("7:1:0")}, {}, {0: Attempt("9:1:0")}])
    []
    """
    votes = Counter((search, attempt) for each in told for search, attempt in each.items())
    return [claim for claim, count in votes.items() if count >= _enough(len(told))]


def answers_told(told: Sequence[tuple[int, History]], /) -> tuple[int, History]:
    """What enough peers know of populations, and how many come before the first of them.

    Each tells what came after a number of populations.

    >>> answers_told([(4, [{0: Answer([1, 0])}]), (4, [{0: Answer([0, 1])}]), (4, [])])
    (4, [])
    """
    enough = _enough(len(told))
    said: dict[int, dict[int, Counter[bytes]]] = {}
    for first, history in told:
        for number, answers in enumerate(history, start=first):
            for objective, answer in answers.items():
                votes = said.setdefault(number, {}).setdefault(objective, Counter())
                votes[msgspec.msgpack.encode(answer)] += 1
    first = number = min((first for first, _ in told), default=0)
    found: History = []
    while number in said:
        agreed = {
            objective: _READ.decode(answer)
            for objective, votes in sorted(said[number].items())
            for answer, count in votes.most_common(1)
            if count >= enough
        }
        if not agreed:
            break
        found.append(agreed)
        number += 1
    return first, found
