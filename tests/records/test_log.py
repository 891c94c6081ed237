"""A log is signed for whoever asks for it: an old one does not pass for new."""

from __future__ import annotations

import time

import pytest

from tacit.errors import LogError
from tacit.local.cluster import LocalCluster
from tacit.records.events import EvaluationBegun, Sent
from tacit.records.log import check_log
from tacit.records.messages import LogPage
from tests.on_nodes.agreed_cluster import AgreedCluster, populations, run


def test_an_old_log_does_not_pass_for_new(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)
    first, second = populations(2)

    async def fetch() -> tuple[list[LogPage], list[LogPage]]:
        async with agreed.ready() as (coordinator, evaluations):
            await evaluations.evaluate(first, until=None)
            await evaluations.settle(until=None)
            old = await coordinator.fetch_logs(b"first nonce")
            await evaluations.evaluate(second, until=None)
            await evaluations.settle(until=None)
            return old, await coordinator.fetch_logs(b"second nonce")

    old, new = run(fetch())
    for node in range(3):

        def check(page: LogPage, nonce: bytes, node: int = node) -> int:
            events = check_log(
                agreed.agreement,
                node,
                page.log,
                nonce=nonce,
                seconds=page.seconds,
                signature=page.signature,
            )
            return sum(isinstance(event, EvaluationBegun) for event in events)

        assert check(old[node], b"first nonce") == 1
        assert check(new[node], b"second nonce") == 2
        assert abs(new[node].seconds - time.time()) < 60
        # The platform hides the second evaluation behind the log of before.
        with pytest.raises(LogError, match="may be an old one"):
            check(old[node], b"second nonce")
        with pytest.raises(LogError, match="did not sign"):
            check(new[(node + 1) % 3], b"second nonce")


def test_digests_of_what_was_sent_are_salted(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(populations(1)[0], until=None)
            await evaluations.settle(until=None)

    run(evaluate())
    sent = [e for node in range(3) for e in agreed.events(node, Sent)]
    assert len({e.salt for e in sent}) == 3
    assert all(len(bytes.fromhex(e.salt)) == 16 for e in sent)
