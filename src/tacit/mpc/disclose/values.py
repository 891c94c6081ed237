"""Disclosures that depend on values: `above:p`, `buckets:k`, and the best fitness.

*Thresholds.* The shuffled positions of best and worst are public, so the tests are linear in
shares:

::

    above      100*(f - min) - p*(max - min) >= 0
    bucket > j    j*(max - min) - k*(max - f) < 0      for j = 1 .. k-1

One batch of comparisons, whose signs stay shares. For `above`, the three best are set true at
their public positions. Then the bits go back to the original positions as shares and are opened
there; a bucket's number is how many of its bits are set.

*The best.* Its shuffled position is public, so the nodes hold its share. As `value` it is opened.
As `improvement`, the sign of (best so far - fitness) was found for every shuffled position in the
ranking's own batch and kept as shares; the one of the best position is opened, and selects, on
shares, the new best so far.

Learns   the coordinator the bits at their original positions, the value, or whether it improved;
         the nodes nothing, unless they are told the bits or the value too
Rounds   thresholds: a comparison and 2 (four nodes: 3); the best: 1, its new state 2 beside others
Bytes    those of the comparison and of `opening`
Paper    as `less_than`, `shuffle` and `halves`
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError
from tacit.mpc.cost import Cost
from tacit.mpc.disclose.spec import Best, FitnessBound, Spec, threshold_bits
from tacit.mpc.protocols import halves, less_than, opening, shuffle
from tacit.mpc.protocols.ranking import Ranking
from tacit.mpc.protocols.shuffle import SecretPermutation
from tacit.mpc.ring import Words, public_word
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, BitShare, public_share

ALWAYS_ABOVE = 3
"""How many of the best are true under `above`, whatever their values."""


def _tests(spec: Spec) -> int:
    return 1 if spec.kind == "above" else spec.parameter - 1


def _bits(spec: Spec, bound: FitnessBound) -> int:
    return threshold_bits(bound, 100 if spec.kind == "above" else spec.parameter)


def shape_of_bits(n: int, spec: Spec) -> tuple[int, int]:
    """The shape of all individuals' bits in bytes, a line for each."""
    return n, -(-_tests(spec) // 8)


def _differences(component: Words, best: int, worst: int, spec: Spec) -> Words:
    """The linear forms above on one component, shape (tests, n)."""
    high, low = component[best : best + 1], component[worst : worst + 1]
    if spec.kind == "above":
        form = public_word(100) * (component - low) - public_word(spec.parameter) * (high - low)
        return form[None, :]
    j = np.arange(1, spec.parameter, dtype=np.uint64)[:, None]
    forms: Words = j * (high - low) - public_word(spec.parameter) * (high - component)[None, :]
    return forms


def _above(below: BitShare, ranks: NDArray[np.intp]) -> BitShare:
    """The complement of `below`, set to true for the best ones."""
    forced = ranks < ALWAYS_ABOVE
    rest = below.map(lambda part: np.where(forced, np.uint8(0), part))
    return rest.add_public(np.ones_like(below.any))


def _pack(bits: NDArray[np.uint8], tests: int, n: int) -> NDArray[np.uint8]:
    """One line of bytes per individual, with its bits."""
    return np.packbits(bits.reshape(tests, n).T, axis=1, bitorder="little")


async def disclose_thresholds(
    session: Session,
    fitness: ArithmeticShare,
    ranking: Ranking,
    order: SecretPermutation,
    *,
    spec: Spec,
    bound: FitnessBound,
    label: str,
    told: bool = False,
) -> Array | None:
    """A node's side; `fitness` is shuffled as the ranking is.

    Where the nodes are told as well, their bits are returned (see `groups_of`).

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> f = deal_integers([0, 50, 100])
    >>> async def node(s):
    ...     order = draw_order(s, 3, label="o")
    ...     y = await shuffle.shuffle(s, f[s.me], order, label="s")
    ...     clear = await opening.open_to_nodes(s, y)  # never do this: it is for the example
    ...     empty = BitShare(dict.fromkeys(s.held, np.zeros(0, dtype=np.uint8)))
    ...     ranks = (2 - clear // np.uint64(50)).astype(np.intp)
    ...     await disclose_thresholds(s, y, Ranking(ranks, empty, ()), order, label="t",
    ...                           spec=spec, bound=FitnessBound(0, 100))
    >>> from tacit.mpc.protocols import opening
    >>> from tacit.mpc.protocols.shuffle import draw_order
    >>> spec = Spec.parse("buckets:2")
    >>> shape = shape_of_bits(3, spec)
    >>> run = run_parties(
    ...     node, lambda s: shuffle.receive_unshuffled(s, shape, dtype=np.uint8, xor=True)
    ... )
    >>> groups_of(run.coordinator, spec)
    array([1, 0, 0])
    """
    n, tests = len(fitness), _tests(spec)
    # Public in the shuffled order, which nobody can undo: the tests need no comparison to find
    # them.
    best, worst = ranking.position(0), ranking.position(n - 1)
    forms = fitness.map(lambda part: _differences(part, best, worst, spec).reshape(-1))
    signs = await less_than.compare_batch(
        session, forms[:0], forms, bits=_bits(spec, bound), label=f"{label}.sign"
    )
    bits = signs.kept
    if spec.kind == "above":
        bits = _above(bits, ranking.ranks)
    rows = bits.map(lambda part: _pack(part, tests, n))
    # Bits go back as shares and are opened at their original positions only: opened here they would
    # tell the nodes how values lie in the secret order.
    return await shuffle.unshuffle_to_coordinator(
        session, rows, order, label=f"{label}.back", told=told
    )


def groups_of(rows: Array, spec: Spec) -> NDArray[np.int64]:
    """0 or 1 for `above`, the number of the bucket for `buckets`, from each individual's bits.

    >>> groups_of(np.array([[3], [1], [0]], dtype=np.uint8), Spec.parse("buckets:3"))
    array([2, 1, 0])
    """
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    # An individual beyond one bucket's end is beyond all ends before it: ones first, then zeros.
    if bits[:, _tests(spec) :].any() or (np.diff(bits.astype(np.int8), axis=1) > 0).any():
        raise AbortError("the nodes", "sent bits that encode no bucket; ask again")
    groups: NDArray[np.int64] = bits.sum(axis=1, dtype=np.int64)
    return groups


def cost_of_thresholds(nodes: int, n: int, *, spec: Spec, bound: FitnessBound, told: bool) -> Cost:
    tests = less_than.cost(nodes, 0, n * _tests(spec), bits=_bits(spec, bound))
    shape, byte = shape_of_bits(n, spec), np.dtype(np.uint8)
    return tests.then(shuffle.cost_to_coordinator(nodes, shape, byte, public=False, told=told))


async def disclose_best(
    session: Session,
    fitness: ArithmeticShare,
    ranking: Ranking,
    *,
    best: Best,
    best_so_far: ArithmeticShare | None,
    label: str,
    told: bool = False,
) -> tuple[ArithmeticShare | None, Array | None]:
    """A node's side: the share of the best so far, if the nodes keep one, and what they are told.

    `fitness` is shuffled as the ranking is. The first evaluation counts as an improvement.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> f, old = deal_integers([4, 9]), deal_integers([6])
    >>> async def node(s):
    ...     kept = BitShare(dict.fromkeys(s.held, np.zeros(2, dtype=np.uint8)))
    ...     ranking = Ranking(np.array([1, 0]), kept, (1,))
    ...     state, _ = await disclose_best(s, f[s.me], ranking, best="improvement",
    ...                            best_so_far=old[s.me], label="best")
    ...     return state
    >>> reveal(run_parties(node).results)  # the kept signs say that nobody is better
    array([6])
    """
    where = ranking.position(0)
    candidate = fitness[where : where + 1]
    if best == "value":
        return best_so_far, await opening.disclose(session, candidate, told=told)
    if best_so_far is None:
        # The first one counts as an improvement. It is opened as any other, so that messages are
        # alike.
        one = np.ones(1, dtype=np.uint8)
        yes = public_share(one, BitShare, me=session.me, nodes=session.nodes)
        await opening.disclose(session, yes)
        return candidate, None
    better = ranking.kept[where : where + 1]
    await opening.disclose(session, better)
    gain = await halves.choose(session, better, candidate - best_so_far, label=f"{label}.gain")
    return best_so_far + gain, None


def cost_of_best(nodes: int, best: Best, *, has_best: bool, told: bool) -> Cost:
    """The cost of disclosing the best; `has_best` says whether there is a best so far."""
    if best == "nothing":
        return Cost.free(nodes)
    if best == "value":
        return opening.cost_to_coordinator(nodes, 1, told=told)
    bit = opening.cost_to_coordinator(nodes, 1, itemsize=1)
    if not has_best:
        return bit
    return bit.beside(halves.cost_of_choice(nodes, 1))
