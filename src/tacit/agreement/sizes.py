"""Limits on the size of an agreement: of its text, of each message, and of a node's memory.

A node keeps all its agreements in memory and checks every signature, so both are bounded, also
against a platform that invents participants and signs for them. Memory is computed from public
sizes alone; its factors are measured (docs/nodes.md): what a step takes besides its largest message
or its matrix. A node refuses an agreement that needs more than its operator allows.
"""

from __future__ import annotations

from tacit.agreement.sealed_groups import ROOM, AssignmentGroup, SealedGroup
from tacit.agreement.terms import Agreement
from tacit.errors import AgreementError
from tacit.mpc import ALL_PAIRS_LIMIT, key_bits

MOST_AGREEMENT_BYTES = 8 << 20
"""As canonical JSON: half of the pairs of 1,000 x 1,000 fit. In memory it takes 13 times that."""
MOST_PARTICIPANTS = 1000
"""Each has a signature, and checking one takes a tenth of a millisecond."""
MOST_OBJECTIVES = 64
"""As many as weightings of a sealed search; each has counters and a matrix at a node."""
LONGEST_NAME = 200
"""Characters of any name; people read them before they sign."""


def check_agreement_bytes(size: int, /) -> None:
    """Refuse an agreement by the length of its canonical form alone.

    >>> check_agreement_bytes(9 << 20)
    Traceback (most recent call last):
    tacit.errors.AgreementError: the agreement has 9 MB; 8 MB are allowed: shorten names, or \
forbid fewer pairs
    """
    if size > MOST_AGREEMENT_BYTES:
        raise AgreementError(
            f"the agreement has {size >> 20} MB; {MOST_AGREEMENT_BYTES >> 20} MB are allowed: "
            "shorten names, or forbid fewer pairs"
        )


def check_counts(agreement: Agreement, /) -> None:
    """Refuse more participants, objectives or owners than nodes take."""
    for what, there, most in (
        ("participants", len(agreement.participants), MOST_PARTICIPANTS),
        ("objectives", len(agreement.objectives), MOST_OBJECTIVES),
    ):
        if there > most:
            raise AgreementError(f"the agreement names {there} {what}; nodes take {most}")
    problem = agreement.problem
    if len(problem.forbidden) > problem.rows * problem.columns:
        raise AgreementError("more pairs are forbidden than there are; give each once")
    for terms in agreement.objectives:
        owned = sum(len(owner.rows) for owner in terms.owners)
        if len(terms.owners) > len(agreement.participants) or owned > problem.rows:
            raise AgreementError(
                f"objective {terms.name[:LONGEST_NAME]!r} lists more owners or rows than there "
                "are; every row has one owner"
            )


def check_name_length(name: str, /) -> None:
    """Refuse a name that nobody reads to its end."""
    if len(name) > LONGEST_NAME:
        raise AgreementError(
            f"the name {ascii(name)[:70]} has {len(name)} characters; {LONGEST_NAME} are allowed"
        )


MOST_CANDIDATES = 1 << 20
"""No population is larger, whatever an agreement says."""


def check_frame_sizes(agreement: Agreement, /) -> None:
    """Refuse an agreement with a message that could exceed the largest frame."""
    most, problem = agreement.limits.population_max, agreement.problem
    if most > MOST_CANDIDATES:
        raise AgreementError(
            f"populations of up to {most} candidates; nodes take {MOST_CANDIDATES}"
        )
    # Checked now, since a message that no frame holds would end the run in its middle.
    entries = most * agreement.known_problem.plan_length
    _check_message("a population", entries * (1 if problem.columns <= 256 else 2))
    for objective in agreement.confidential():
        for owner in agreement.objectives[objective].owners:
            # All components but one, of eight bytes per weight.
            size = 8 * (len(agreement.nodes) - 1) * len(owner.rows) * problem.columns
            _check_message(f"the box of {owner.participant!r}", size)
    for objective in agreement.evaluated():
        name = agreement.objectives[objective].name
        _check_message(f"an evaluation of {name!r}", largest_batch(agreement, objective))


def largest_batch(agreement: Agreement, objective: int) -> int:
    """Return the bytes of the largest message between nodes: one bit per bit compared."""
    n, spec = agreement.limits.population_max, agreement.objectives[objective].spec
    if spec.kind == "none":
        return 8 * n
    if agreement.together:
        # All comparisons of one step; some go in messages of their own.
        widths = agreement.pareto_widths(n)
        kept = 2 * (widths.objectives - 1) * widths.dominance_bits
        opened = widths.first_bits + sum(key_bits(each, n) for each in widths.bounds[1:])
        return n * n // 2 * max(kept + opened, key_bits(widths.score_bound, n)) // 8 + 64 * n
    # Pivots need about n^(4/3) comparisons at a time, with luck fewer; twice that is safe.
    comparisons = n * n // 2 if n <= ALL_PAIRS_LIMIT else int(2 * float(n) ** (4 / 3))
    if spec.kind == "buckets":
        comparisons = max(comparisons, n * spec.parameter)
    bits = key_bits(agreement.fitness_bound(objective), n) + 8
    return max(comparisons * bits // 8, 16 * n)


def _check_message(what: str, size: int) -> None:
    if size > ROOM:
        raise AgreementError(
            f"{what} would take a message of {size >> 20} MB; {ROOM >> 20} MB fit: lower "
            "population_max or the number of buckets, or split the rows among more owners"
        )


CHILD_BYTES = 256
"""Of a child of a generation: where its gain comes from, what it moves, its key."""
CELL_BYTES = {(3, 0): 180, (3, 1): 250, (4, 0): 220, (4, 1): 310}
"""Of a cell of the square of an assignment, by the number of nodes and the lag: costs, matching and
parents in shares, tables and tie-breaks; with lag 1 those of two steps that go on side by side."""
DESCENT_BYTES = 100
"""Of a cell during a generation of block descent."""
BATCH_FACTOR = {3: 14, 4: 28}
"""The memory of a comparison's steps, in messages of it, by the number of nodes."""
BOX_FACTOR = 5
"""A box arrives, is opened, decoded, and kept."""
SEARCH_BYTES = 24
"""Per entry of a population: what a node keeps to derive the next, and what that takes besides."""
RANGE_BYTES, RANGE_BATCH = {3: 112, 4: 256}, 16 << 20
"""Per weight that is range-checked, by the number of nodes, and for one batch of comparisons."""
GRID_FACTOR = {3: 4, 4: 9}
"""The memory of the answers to a range check while they are joined, in grids of their bits."""


def _share_bytes(agreement: Agreement) -> int:
    # All components but one, of eight bytes per weight.
    return 8 * (len(agreement.nodes) - 1)


def weights_bytes(agreement: Agreement, /) -> int:
    """Return the bytes of the shares of all matrices, and of the public ones."""
    cells, shared = agreement.problem.rows * agreement.problem.columns, agreement.confidential()
    # With equity once as they were stated, and once with their factors.
    matrices = len(shared) * (1 if agreement.equity is None else 2)
    return cells * (
        _share_bytes(agreement) * matrices + 8 * (len(agreement.objectives) - len(shared))
    )


def prepare_bytes(agreement: Agreement, objective: int, /) -> int:
    """Return the bytes that the check of an objective's inputs takes."""
    owners, columns = agreement.objectives[objective].owners, agreement.problem.columns
    counts = [len(owner.rows) * columns for owner in owners]
    # The answers lie in a grid of two lines per weight of the largest owner, a bit per owner.
    grid = 2 * max(counts, default=0) * 8 * -(-len(owners) // 64)
    nodes = len(agreement.nodes)
    batch = min(RANGE_BATCH, 128 * sum(counts))
    return RANGE_BYTES[nodes] * sum(counts) + batch + GRID_FACTOR[nodes] * grid


def evaluation_bytes(agreement: Agreement, objective: int, /) -> int:
    """Return the bytes that one evaluation of the largest population takes."""
    entries = agreement.limits.population_max * agreement.known_problem.plan_length
    factor = BATCH_FACTOR[len(agreement.nodes)]
    return factor * largest_batch(agreement, objective) + 4 * entries


def steps_bytes(group: SealedGroup, /, *, nodes: int) -> int:
    """Return the bytes that the start of a sealed run, or a batch of its steps, takes."""
    batch = BATCH_FACTOR[nodes] * group.largest_message
    moves = CHILD_BYTES * group.moves_at_once
    if isinstance(group, AssignmentGroup):
        cells, parameters = group.square_cells, group.parameters
        descending = DESCENT_BYTES * cells + moves if parameters.generations else 0
        return batch + max(CELL_BYTES[nodes, parameters.lag] * cells, descending)
    return batch + moves


def search_bytes(agreement: Agreement, /) -> int:
    """Return the bytes that the agreed search takes, where the node follows it."""
    if agreement.sealed or agreement.search.populations == "chosen":
        return 0
    return SEARCH_BYTES * agreement.limits.population_max * agreement.known_problem.genome_length


def working_bytes(agreement: Agreement, /) -> int:
    """Return the bytes that the agreement takes while a node works on it, one step at a time."""
    columns = agreement.problem.columns
    steps = [0]
    for objective in agreement.confidential():
        owners = agreement.objectives[objective].owners
        largest = max((len(owner.rows) * columns for owner in owners), default=0)
        steps += [
            BOX_FACTOR * largest * _share_bytes(agreement),
            prepare_bytes(agreement, objective),
        ]
    steps += [evaluation_bytes(agreement, k) for k in agreement.evaluated()]
    if agreement.sealed:
        groups = agreement.sealed_run.groups
        steps += [steps_bytes(each, nodes=len(agreement.nodes)) for each in groups]
    # A node does one step of an agreement at a time, so only the largest counts.
    return weights_bytes(agreement) + search_bytes(agreement) + max(steps)


def account_bytes(agreement: Agreement, /) -> int:
    """Return the bytes that the account of a run takes."""
    cells = agreement.problem.rows * agreement.problem.columns
    compared = max(cells * 64, 256 * 64 * len(agreement.participants))
    return BATCH_FACTOR[len(agreement.nodes)] * compared // 8 + 64 * cells
