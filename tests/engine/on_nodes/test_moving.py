"""Balances of a series move to other nodes, three to four and back, whoever dies on the way."""

from __future__ import annotations

import pytest

from tacit.engine.coordinator.earlier_nodes import GivenBooks
from tacit.engine.local.cluster import LocalCluster
from tacit.errors import MpcError, RefusedError
from tests.engine.agreed_cluster import AgreedCluster, run
from tests.engine.equity_series import EquitySeries, hand_over, problem_of
from tests.support.mending import mend

pytestmark = pytest.mark.processes


async def books(series: EquitySeries, made: AgreedCluster) -> GivenBooks:
    async with series.earlier_nodes() as earlier:
        return await earlier.books(made.agreement, made.signatures, series.signed)


async def start(
    series: EquitySeries, made: AgreedCluster, given: GivenBooks | None, within: float = 60
) -> None:
    async with made.coordinator() as coordinator:
        await coordinator.start_agreement(
            made.signatures, within=within, series=series.signed, given=given
        )


def test_balances_move_to_other_nodes_and_back(
    own_cluster: LocalCluster, four: LocalCluster
) -> None:
    """Three nodes, four others, and the three again: weights, steps and balances are the twin's."""
    first = EquitySeries.draft(own_cluster)
    run(first.finish(first.next_run(problem_of(1))))
    second = first.continued_on(four)
    made = second.next_run(problem_of(2))
    with pytest.raises(RefusedError, match="not known here; show it"):
        run(start(second, made, None))

    # A node that gives dies, and gives the same again; one that takes dies before it is asked.
    own_cluster.kill(1)
    with pytest.raises(MpcError, match=r"node 1 of the earlier series, at 127\.0\.0\.1:"):
        run(books(second, made))
    mend(own_cluster)
    one = run(books(second, made))
    own_cluster.kill(0)
    mend(own_cluster)
    other = run(books(second, made))
    four.kill(3)
    with pytest.raises(MpcError):
        run(start(second, made, one, within=0.5))
    mend(four)

    # Boxes of two times fit together, and the run ends as if nothing had happened.
    mixed = GivenBooks(one.earlier, {0: other.boxes[0], 1: one.boxes[1], 2: other.boxes[2]})
    run(start(second, made, mixed))
    run(second.finish(made))
    assert second.balances() == second.expected()

    # The earlier nodes have given it away for good.
    async def refused(series: EquitySeries, other: AgreedCluster, why: str) -> None:
        async with other.coordinator() as coordinator:
            with pytest.raises(RefusedError, match=why):
                await hand_over(series, other, coordinator)

    run(refused(first, first.next_run(problem_of(3)), "another series has taken over"))
    thief = first.continued_on(four)
    with pytest.raises(RefusedError, match="another series has taken over these balances"):
        run(books(thief, thief.next_run(problem_of(3), number=9)))

    # Back to nodes that were there before; of four, three suffice.
    third = second.continued_on(own_cluster)
    made = third.next_run(problem_of(3))
    four.kill(2)
    run(third.finish(made))
    mend(four)
    assert third.balances() == third.expected()
    run(third.finish(third.next_run(problem_of(4))))
    assert third.balances() == third.expected()
    assert third.books()[0].runs == 4
