"""How much memory an agreement takes at a node, from its public sizes alone.

The factors are measured (docs/nodes.md): what a step takes besides its largest message or its
matrix. A node refuses an agreement that needs more than its operator allows.
"""

from __future__ import annotations

from tacit.agreement.frame_sizes import largest_batch
from tacit.agreement.sealed_groups import AssignmentGroup, SealedGroup
from tacit.agreement.terms import Agreement

CHILD_BYTES = 256
"""Of a child of a generation: where its gain comes from, what it moves, its key."""
CELL_BYTES = {(3, 0): 180, (3, 1): 250, (4, 0): 220, (4, 1): 290}
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
    """All components but one, of eight bytes per weight."""
    return 8 * (len(agreement.nodes) - 1)


def weights_bytes(agreement: Agreement, /) -> int:
    """The shares of all matrices, and the public ones."""
    cells, shared = agreement.problem.rows * agreement.problem.columns, agreement.confidential()
    # With equity once as they were stated, and once with their factors.
    matrices = len(shared) * (1 if agreement.equity is None else 2)
    return cells * (
        _share_bytes(agreement) * matrices + 8 * (len(agreement.objectives) - len(shared))
    )


def prepare_bytes(agreement: Agreement, objective: int, /) -> int:
    """The check of an objective's inputs."""
    owners, columns = agreement.objectives[objective].owners, agreement.problem.columns
    counts = [len(owner.rows) * columns for owner in owners]
    # The answers lie in a grid of two lines per weight of the largest owner, a bit per owner.
    grid = 2 * max(counts, default=0) * 8 * -(-len(owners) // 64)
    nodes = len(agreement.nodes)
    batch = min(RANGE_BATCH, 128 * sum(counts))
    return RANGE_BYTES[nodes] * sum(counts) + batch + GRID_FACTOR[nodes] * grid


def evaluation_bytes(agreement: Agreement, objective: int, /) -> int:
    """One evaluation of the largest population."""
    entries = agreement.limits.population_max * agreement.known_problem.plan_length
    factor = BATCH_FACTOR[len(agreement.nodes)]
    return factor * largest_batch(agreement, objective) + 4 * entries


def steps_bytes(group: SealedGroup, /, *, nodes: int) -> int:
    """The start of a sealed run, or a batch of its steps."""
    batch = BATCH_FACTOR[nodes] * group.largest_message
    moves = CHILD_BYTES * group.moves_at_once
    if isinstance(group, AssignmentGroup):
        cells, parameters = group.square_cells, group.parameters
        descending = DESCENT_BYTES * cells + moves if parameters.generations else 0
        return batch + max(CELL_BYTES[nodes, parameters.lag] * cells, descending)
    return batch + moves


def search_bytes(agreement: Agreement, /) -> int:
    """The agreed search, where the node follows it."""
    if agreement.sealed or agreement.search.populations == "chosen":
        return 0
    return SEARCH_BYTES * agreement.limits.population_max * agreement.known_problem.genome_length


def working_bytes(agreement: Agreement, /) -> int:
    """What the agreement takes while a node works on it, one step at a time."""
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
    return weights_bytes(agreement) + search_bytes(agreement) + max(steps)


def account_bytes(agreement: Agreement, /) -> int:
    """The account of a run: comparisons of all cells of the table, and of 256 per participant."""
    cells = agreement.problem.rows * agreement.problem.columns
    compared = max(cells * 64, 256 * 64 * len(agreement.participants))
    return BATCH_FACTOR[len(agreement.nodes)] * compared // 8 + 64 * cells
