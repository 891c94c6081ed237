"""Execution without nodes: it does what the port promises of states, at once."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from msgspec.structs import replace

from tacit.agreement.signatures import sign_offer
from tacit.agreement.terms import NodeTerms, read_agreement
from tacit.client import RunState
from tacit.client.models import CarriedLog, CarriedLogs, ClusterView, FoundPlans, NodeView
from tacit.identity.config import load_cluster_config
from tacit.identity.keys import load_keys
from tacit.local.engine import node_terms, platform_certificate
from tacit.service.execution.answer import found_plans
from tacit.service.execution.progress_file import ProgressFile
from tacit.service.notices.notifier import Notifier
from tacit.service.server.metrics import ServiceMetrics
from tacit.service.server.settings import Settings
from tacit.service.storage import (
    Database,
    members_of,
    read_run,
    set_progress,
    set_state,
    set_submission_state,
    store_part,
)
from tacit.service.workflow.inviting import begin_draft, drafted, keep_draft
from tacit.supervisor import Supervisor, log_failures
from tests.service.example_terms import progress_at


class StandIn:
    def __init__(self, settings: Settings, database: Database) -> None:
        self.settings, self.database = settings, database
        self.started = False
        self.metrics = ServiceMetrics()
        self.tasks = Supervisor(log_failures(logging.getLogger("tacit.service.execution")))
        self.metrics.watch_tasks(self.tasks)
        self.calls: list[tuple[str, str]] = []

    async def start(self) -> None:
        self.started = True
        Notifier(self.settings, self.database, self.clusters).start(self.tasks)

    async def stop(self) -> None:
        await self.tasks.close()
        self.started = False

    async def cluster_for_new_run(self) -> str:
        return self.settings.cluster[0].name

    def clusters(self) -> list[ClusterView]:
        node = NodeView(
            host="n",
            port=1,
            signing_key="a" * 64,
            certificate="c" * 64,
            reachable=False,
            clock_offset_seconds=None,
        )
        return [ClusterView(name="cluster", nodes=[node] * 3, slots=4, running=0, waiting=0)]

    async def changed(self, run_id: str, /) -> None:
        run = await self.database.read(read_run, run_id)
        self.calls.append((run.state, run_id))
        if run.state == "invited":
            await self.draw_up(run_id)
        elif run.state == "agreed":
            await self.take_rows(run_id)

    async def draw_up(self, run_id: str, /) -> None:
        ready = await self.database.write(begin_draft, run_id)
        if ready is None:
            return
        nodes, platform = self.offered_nodes(ready.nonce)
        agreement = drafted(ready, nodes=nodes, platform=platform)
        await self.database.write(keep_draft, run_id, agreement)

    def offered_nodes(self, nonce: str) -> tuple[list[NodeTerms], str]:
        """As the nodes of the first cluster would offer keys, if they were there."""
        config = load_cluster_config(self.settings.place(self.settings.cluster[0].file))
        platform, nodes = platform_certificate(config), []
        for number, terms in enumerate(node_terms(config)):
            signing = load_keys(Path(config.folder) / f"node-{number}.key").signing
            key = X25519PrivateKey.generate().public_key().public_bytes_raw().hex()
            offer = sign_offer(signing, nonce=nonce, platform=platform, sealing_key=key)
            nodes.append(replace(terms, sealing_key=key, sealing_signature=offer))
        return nodes, platform

    async def take_rows(self, run_id: str, /) -> None:
        for member in await self.database.read(members_of, run_id):
            if member.submission_state == "waiting":
                await self.database.write(
                    set_submission_state, run_id, member.participant, "accepted"
                )
        members = await self.database.read(members_of, run_id)
        if all(member.submission_state == "accepted" for member in members):
            await self.database.write(set_state, run_id, "submitted")

    async def fetch_logs(
        self, run_id: str, nonce: bytes, /, *, heads_only: bool = False
    ) -> CarriedLogs:
        run = await self.database.read(read_run, run_id)
        assert run.agreement is not None
        read_agreement(run.agreement)
        logs = [
            CarriedLog(
                node=i,
                log=b"" if heads_only else b"{}\n",
                seconds=1,
                nonce=nonce.hex(),
                signature="01" * 64,
                head="ab" * 32,
            )
            for i in range(3)
        ]
        return CarriedLogs(logs=logs, manifests=[], words={0: "ab"})

    async def run_to(self, run_id: str, state: RunState, /, **found: Any) -> None:
        """Let a submitted run run, and end as `state`; `found` differs from the usual result.

        `front` has the columns of several plans, with their `values` and `weightings`.
        """
        await self.database.write(
            set_state, run_id, "running", running_since=100.0, deadline_at=105.0
        )
        file = ProgressFile(None, objectives=1, after=-1)
        for generation in range(3):
            report = progress_at(generation)
            await self.database.write(set_progress, run_id, report)
            file.add(report)
        part = file.new_part()
        assert part is not None
        await self.database.write(store_part, run_id, part)
        if state != "running":
            data = (await self.database.read(read_run, run_id)).agreement
            assert data is not None
            front = found.pop("front", None)
            plans = found_plans(
                read_agreement(data).known_problem,
                front or [[1, 0, 3, 2]],
                values=found.pop("values", None) or [],
                weightings=found.pop("weightings", None) or [],
            )
            usual = {
                "disclosed": [88.0],
                "generation": 2,
                "evaluations": 3,
                "seconds": 5.0,
                "late_by_seconds": 0.01,
            }
            result = FoundPlans(plan=plans[0], front=plans if front else None, **{**usual, **found})
            await self.database.write(set_state, run_id, state, result=result, reason="deadline")
