"""Requests to three real nodes in this process: none may break them, and honest ones go on."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from tacit.agreement.terms import NodeTerms, agreement_hash
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluations
from tacit.coordinator.node_client import NodeClient
from tacit.errors import PeerError, TacitError
from tacit.identity.cluster import write_cluster
from tacit.identity.config import ClusterConfig, load_cluster_config, load_node_config
from tacit.identity.keys import load_keys
from tacit.local.cluster import LocalCluster, free_addresses, memory_folder
from tacit.local.engine import node_terms, platform_certificate
from tacit.node.inputs import frozen_value
from tacit.node.server import Node
from tacit.records.ballots import Phase, Subject, SubjectKind, Vote
from tacit.records.events import LogEvent, NodeFault
from tacit.records.messages import (
    Advance,
    Cancel,
    CastVote,
    End,
    FetchLog,
    Freeze,
    Message,
    OfferSealingKey,
    OpenEpoch,
    OpenPlan,
    Ping,
    Prepare,
    Reveal,
    Submit,
    encode_message,
)
from tacit.records.requests import NO_ATTEMPT, Attempt, pack_candidates
from tests.fuzz.harness import FindingError, Target, Trial
from tests.fuzz.mutations import as_msgpack, mutated, sometimes_mangled
from tests.on_nodes.agreed_cluster import AgreedCluster, make_clients, populations, problem
from tests.on_nodes.sealed_agreed_cluster import draft as draft_sealed
from tests.on_nodes.sealed_agreed_cluster import sealed

MOST_REQUESTS = 12
PLANS = populations(1)[0]
Votes = list[bytes]
PATIENCE = 120.0
"""Seconds for what takes milliseconds on a machine without other work."""


class WatchedNode(Node):
    """A node that keeps what went wrong inside it."""

    troubles: list[str]

    def note(self, event: LogEvent, /) -> None:
        """Also tell us."""
        if isinstance(event, NodeFault):
            self.troubles.append(str(event))
        super().note(event)


class Nodes:
    """Three nodes, agreements of each kind to attack, and one that goes on beside them."""

    def __init__(self, folder: Path, troubles: list[str]) -> None:
        write_cluster(
            folder,
            free_addresses(3),
            timeout_seconds=10.0,
            any_search=True,
            chosen_populations=True,
        )
        config = load_cluster_config(folder / "cluster.toml")
        self.cluster = cast(LocalCluster, SimpleNamespace(folder=folder, config=config))
        self.troubles = troubles
        self.nodes = [self._node(folder / f"node-{i}.toml") for i in range(3)]
        many: dict[str, Any] = {"evaluations": 10**6, "offered": self._offered}
        self.attacked = AgreedCluster.draft(self.cluster, problem(), reveal_best=True, **many)
        self.derived = AgreedCluster.draft(
            self.cluster,
            problem("top:3", "nothing"),
            search={"population": 8, "elites": 2},
            seed=None,
            populations="derived",
            **many,
        )
        self.sealed = draft_sealed(self.cluster, sealed(problem()), offered=self._offered)
        self.voted = draft_sealed(self.cluster, sealed(problem()), offered=self._offered)
        """Apart, as nothing is computed of a search that was voted on."""
        self.ended = AgreedCluster.draft(self.cluster, problem(), **many)
        self.honest = AgreedCluster.draft(self.cluster, problem("top:2", "nothing"), **many)

    def _offered(self, config: ClusterConfig, nonce: str) -> list[NodeTerms]:
        """Sealing keys from the nodes themselves, which do not serve yet."""
        platform, found = platform_certificate(config), []
        for node, terms in zip(self.nodes, node_terms(config), strict=True):
            asked = OfferSealingKey(nonce=nonce, platform=platform, signing_key=terms.signing_key)
            key, signature = node.offer_sealing_key(asked, platform)
            found.append(replace(terms, sealing_key=key, sealing_signature=signature))
        return found

    def _node(self, path: Path) -> WatchedNode:
        node = WatchedNode(load_node_config(path))
        node.troubles = self.troubles
        return node

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The nodes serve; all attacked agreements are ready to be computed on."""
        stop = asyncio.Event()
        serving = [asyncio.create_task(node.run(stop)) for node in self.nodes]
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self.troubles.append(str(context)))
        try:
            for agreed in self._attacked:
                async with agreed.coordinator() as coordinator:
                    await coordinator.start(agreed.signatures, agreed.sealed(), within=PATIENCE)
            yield
        finally:
            stop.set()
            await asyncio.gather(*serving)

    @property
    def _attacked(self) -> list[AgreedCluster]:
        return [self.attacked, self.derived, self.sealed, self.voted, self.ended]

    def _votes(self, agreed: AgreedCluster, phase: Phase, subject: Subject, value: str) -> Votes:
        """A vote of each node, as if all had the same."""
        keys = [load_keys(self.cluster.folder / f"node-{i}.key").signing for i in range(3)]
        votes = [Vote(i, subject, 1, phase, value) for i in range(3)]
        name = agreement_hash(agreed.agreement)
        return [vote.sign(key, name) for vote, key in zip(votes, keys, strict=True)]

    def _ballot_requests(self) -> list[Message]:
        """Requests of each phase, with votes that allow them, and what such votes decide."""
        found: list[Message] = []
        for agreed, kind in ((self.attacked, SubjectKind.INPUTS), (self.voted, SubjectKind.PLAN)):
            name, subject, value = agreement_hash(agreed.agreement), Subject(kind, 0), "0:1:1"
            if kind is SubjectKind.INPUTS:
                frozen = self.nodes[0].agreement_states[name].inputs.frozen[0]
                value = frozen_value(frozen.manifests, frozen.commitments)
            before: Votes = []
            for phase in Phase:
                found.append(
                    CastVote(
                        agreement=name,
                        subject=subject,
                        ballot=1,
                        phase=phase,
                        value=value,
                        votes=before,
                    )
                )
                said = "" if phase is Phase.STATUS else value
                before = self._votes(agreed, phase, subject, said)
            epoch = self.epoch(agreed)
            found += [
                Freeze(agreement=name, objective=0, votes=before, epoch=epoch, attempt=8),
                OpenPlan(agreement=name, search=0, attempt=Attempt(value), votes=before),
            ]
        return found

    def epoch(self, agreed: AgreedCluster) -> int:
        """The epoch that the nodes compute in, once it is opened."""
        return self.nodes[0].agreement_states[agreement_hash(agreed.agreement)].epochs.last + 1

    def requests(self) -> list[Message]:
        """A valid request of each type, as far as somebody can know what is valid."""
        found: list[Message] = []
        for agreed in (self.attacked, self.derived, self.sealed):
            name, rows = agreement_hash(agreed.agreement), agreed.sealed()[0]
            found += [
                agreed.agree_request(),
                Submit(
                    agreement=name,
                    manifest=rows.manifest,
                    signature=rows.signature,
                    box=rows.boxes[0],
                ),
                OpenEpoch(agreement=name, epoch=self.epoch(agreed)),
                Prepare(agreement=name, objective=0, epoch=self.epoch(agreed), attempt=7),
                FetchLog(agreement=name),
            ]
        name, hidden = (agreement_hash(each.agreement) for each in (self.attacked, self.sealed))
        plans = pack_candidates(self.attacked.agreement.known_problem, PLANS)
        more: dict[str, Any] = {"epoch": self.epoch(self.attacked), "attempt": 7}
        start = {**more, "epoch": self.epoch(self.sealed)}
        drawn = Attempt.of(0, self.epoch(self.sealed), 7)
        return [
            *found,
            *self._ballot_requests(),
            self.attacked.request(PLANS, epoch=self.epoch(self.attacked)),
            self.attacked.request(PLANS, epoch=self.epoch(self.sealed), agreement=hidden),
            self.derived.request(PLANS, epoch=self.epoch(self.derived)),
            Reveal(agreement=name, objective=0, candidates=plans, **more),
            Advance(
                agreement=hidden, search=0, first=0, count=0, horizon=9, parent_attempt=NO_ATTEMPT,
                **start,
            ),
            Advance(
                agreement=hidden, search=0, first=0, count=2, horizon=9,
                parent_attempt=drawn, **start,
            ),
            OpenPlan(agreement=hidden, search=0, attempt=drawn),
            OfferSealingKey(
                nonce="ab" * 16,
                platform=self.attacked.agreement.platform,
                signing_key=self.attacked.agreement.nodes[0].signing_key,
            ),
            End(agreement=agreement_hash(self.ended.agreement), nonce=self.ended.agreement.nonce),
            Cancel(target=1),
            Ping(),
        ]  # fmt: skip


async def attack(clients: list[NodeClient], requests: list[bytes]) -> None:
    """Send all to every node on a link of its own, and wait until it has looked at them."""
    for client in clients:
        with contextlib.suppress(PeerError):
            await client.connect()
    for data in requests:
        for client in clients:
            with contextlib.suppress(PeerError):
                await client._line.talk.send(1, data, timeout=PATIENCE)  # type: ignore[union-attr]
    for client in clients:
        # What is no request ends the link, which is documented; then there is no answer either.
        with contextlib.suppress(TacitError):
            async with asyncio.timeout(PATIENCE):
                await (await client.ask(Ping()))
    for client in clients:
        await client.disconnect()


@contextmanager
def real_nodes() -> Iterator[Trial]:
    """Sequences of changed requests, each followed by an honest evaluation."""
    troubles: list[str] = []
    with (
        tempfile.TemporaryDirectory(dir=memory_folder(), prefix="tacit-fuzz-") as folder,
        asyncio.Runner() as runner,
    ):
        nodes = Nodes(Path(folder), troubles)
        serving = nodes.running()
        runner.run(_enter(serving))
        honest = Coordinator(nodes.honest.agreement, make_clients(nodes.cluster))
        runner.run(honest.start(nodes.honest.signatures, nodes.honest.sealed(), within=PATIENCE))
        evaluations = Evaluations(honest, 0)
        trees = [msgspec.msgpack.decode(encode_message(each)) for each in nodes.requests()]

        @st.composite
        def one(draw: st.DrawFn) -> bytes:
            tree = draw(mutated(draw(st.sampled_from(trees)), most=2))
            return draw(sometimes_mangled(as_msgpack(tree)))

        async def sequence(requests: list[bytes]) -> None:
            await attack(make_clients(nodes.cluster), requests)
            try:
                async with asyncio.timeout(PATIENCE):
                    await evaluations.evaluate(PLANS, until=None)
            except (TacitError, TimeoutError) as error:
                raise FindingError(f"an honest evaluation failed: {error!r}") from error

        def run(requests: list[bytes]) -> int:
            runner.run(sequence(requests))
            if troubles:
                raise FindingError(f"inside a node: {troubles}")
            return len(requests)

        try:
            yield Trial(st.lists(one(), min_size=6, max_size=MOST_REQUESTS), run)
        finally:
            runner.run(honest.close())
            runner.run(_leave(serving))
        _still_readable(nodes)


async def _enter(serving: Any) -> None:
    await serving.__aenter__()


async def _leave(serving: Any) -> None:
    await serving.__aexit__(None, None, None)


def _still_readable(nodes: Nodes) -> None:
    """Whatever was asked, a node starts again with all that it kept."""
    for i in range(3):
        again = Node(load_node_config(Path(nodes.cluster.folder) / f"node-{i}.toml"))
        if again.broken or len(again.agreement_states) < 4:
            raise FindingError(f"node {i} cannot read {again.broken or 'its agreements'}")


TARGETS = [Target("nodes", 20_000, real_nodes, most_seconds=4.0, per_example=8, batch=100)]
