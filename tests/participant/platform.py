"""A platform with one run of three airlines on real nodes, which may lie about it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from msgspec.structs import replace as replaced

from tacit.agreement import Agreement, NodeTerms, agreement_hash, canonical, read_agreement
from tacit.client import RunState
from tacit.client.models import CarriedLog, CarriedLogs
from tacit.coordinator import SecureEngine
from tacit.disclosure import parse_disclosure
from tacit.errors import WrongStateError
from tacit.identity import CertificateFiles, load_cluster_config
from tacit.local import LocalCluster, offered_node_terms, platform_certificate
from tacit.problems import Assignment, Objective, Participant, Problem
from tacit.records import Disclosed, read_ledger
from tacit.runs import LEDGER, Agreed, Observer, Progress, agreed_driver, drive
from tacit.search import SearchParameters
from tacit.service.access.credentials import invite
from tacit.service.execution.agreed_runs import StoredAgreement, stored_agreement
from tacit.service.execution.answer import result_of
from tacit.service.execution.report import Report
from tacit.service.server.app import make_app
from tacit.service.storage import (
    create_account,
    create_run,
    read_run,
    read_run_file,
    replace_run_file,
    restore_files,
    set_agreement,
    set_state,
    set_submission_state,
)
from tacit.service.workflow.inviting import invite_members
from tacit.service.workflow.terms import terms_of_problem
from tests.service.stand_in import StandIn
from tests.support.platform import Lies, Tamper, generous, listening

RUN = "r-abcdefghij"
NAMES = ("north", "south", "west")
EVALUATIONS = 6
PARAMETERS = SearchParameters(population=20, elites=2, tournament=3)


def slots(disclosure: str = "top:4") -> Assignment:
    """Nine flights of three airlines and nine slots; delays cost up to 300.0, with one decimal."""
    costs = np.random.default_rng(5).integers(0, 3000, size=(9, 9))
    return Assignment(
        name="slots",
        rows=9,
        columns=9,
        row_names=tuple(f"F{i}" for i in range(9)),
        column_names=("8:00", "8:10", "8:20", "8:30", "8:40", "8:50", "9:00", "9:10", "9:20"),
        objectives=(
            Objective(
                "delay",
                costs,
                sense="minimize",
                scale=10,
                weight_bound=3000,
                disclosure=parse_disclosure(disclosure),
            ),
        ),
        participants=tuple(
            Participant(name, tuple(range(3 * i, 3 * i + 3))) for i, name in enumerate(NAMES)
        ),
    )


def csv_of(problem: Problem, name: str) -> str:
    """A participant's own rows as its desk would have them."""
    weights, rows, columns = problem.objectives[0].weights, problem.row_names, problem.column_names
    assert weights is not None
    assert rows is not None
    assert columns is not None
    own = next(each.rows for each in problem.participants if each.name == name)
    lines = [",".join(("flight", *columns))]
    lines += [",".join((rows[r], *(f"{w / 10:.1f}" for w in weights[r]))) for r in own]
    return "\n".join(lines) + "\n"


class ByHand(StandIn):
    """Accepts rows unseen and runs nothing by itself; it has the logs of nodes that ran."""

    engine: SecureEngine | None = None
    nonce: bytes | None = None
    """What nodes are asked with, in place of what a participant drew."""

    def offered_nodes(self, nonce: str) -> tuple[list[NodeTerms], str]:
        config = load_cluster_config(self.settings.place(self.settings.cluster[0].file))
        return offered_node_terms(config, nonce), platform_certificate(config)

    async def take_rows(self, run_id: str, /) -> None:
        """Leave the rows waiting."""

    async def fetch_logs(
        self, run_id: str, nonce: bytes, /, *, heads_only: bool = False
    ) -> CarriedLogs:
        if self.engine is None:
            raise WrongStateError("the nodes have no log of this run yet; wait until it runs")
        stored = await self.database.read(stored_agreement, run_id)
        fetch = self.engine.fetch_heads if heads_only else self.engine.fetch_logs
        found = await asyncio.to_thread(fetch, self.nonce or nonce)
        logs = (
            CarriedLog(
                node=node,
                log=done.log,
                seconds=done.seconds,
                nonce=nonce.hex(),
                signature=done.signature.hex(),
                head=done.head,
            )
            for node, done in enumerate(found)
        )
        return CarriedLogs(logs=list(logs), manifests=stored.signed_manifests())

    def close(self) -> None:
        if self.engine is not None:
            self.engine.__exit__(None, None, None)


class Platform:
    """One run, whose participants are invited; `url` is where it listens."""

    def __init__(
        self,
        cluster: LocalCluster,
        folder: Path,
        *,
        problem: Problem | None = None,
        parameters: SearchParameters = PARAMETERS,
        reveal_best: bool = False,
        certificate: CertificateFiles | None = None,
    ) -> None:
        self.cluster, self.folder, self.problem = cluster, folder, problem or slots()
        settings = generous(folder / "platform", cluster.folder / "cluster.toml")
        if certificate is not None:
            used = {"tls_certificate": certificate.certificate, "tls_key": certificate.key}
            settings = replaced(settings, **{name: str(path) for name, path in used.items()})
        self.settings = settings
        self.ca = settings.place(settings.tls_certificate or "")
        self.url = settings.url
        self.tamper: dict[str, Tamper] = {}
        self.received: list[bytes] = []
        self.app = make_app(settings, execution=ByHand)
        self.app.add_middleware(Lies, tamper=self.tamper, received=self.received)
        self.database, self.execution = self.app.state.platform.database, self._by_hand()
        self.codes = self._invite(parameters, reveal_best=reveal_best)

    def _by_hand(self) -> ByHand:
        execution = self.app.state.platform.execution
        assert isinstance(execution, ByHand)
        return execution

    def _invite(self, parameters: SearchParameters, *, reveal_best: bool) -> dict[str, str]:
        first = self.problem.objectives[0]
        owners = {each.name: each.rows for each in self.problem.participants}
        disclosed = {"disclosure": str(first.disclosure), "best": first.best_mode}
        terms = terms_of_problem(
            self.problem,
            owners,
            rules={
                "objectives": [disclosed] * len(self.problem.objectives),
                "name": "morning",
                "parameters": asdict(parameters),
                "limits": {"evaluations": EVALUATIONS, "distinct_min": 2},
                "deadline_seconds": 20.0,
                "reveal_best": reveal_best,
            },
        )
        name = self.settings.cluster[0].name
        with (
            self.database.writing() as session,
            patch("tacit.service.storage.runs.new_id", return_value=RUN),
        ):
            create_account(session, "op", "operator")
            create_run(session, terms, by="op")
            return invite_members(session, self.settings, RUN, name)

    def invite_again(self, name: str) -> str:
        with self.database.writing() as session:
            return invite(session, name, hours=1)[0]

    @property
    def stored(self) -> StoredAgreement:
        with self.database.reading() as session:
            return stored_agreement(session, RUN)

    @property
    def agreement(self) -> Agreement:
        return self.stored.agreement

    @property
    def state(self) -> RunState:
        with self.database.reading() as session:
            return read_run(session, RUN).state

    def redraft(self, agreement: Agreement) -> None:
        """Show everybody another agreement from now on, for whoever signs it."""
        data, digest = canonical(agreement), agreement_hash(agreement).hex()
        with self.database.writing() as session:
            set_agreement(session, RUN, data, digest)
        assert read_agreement(data) == agreement

    def refuse(self, name: str, reason: str) -> None:
        """What the nodes would say of a participant's rows."""
        with self.database.writing() as session:
            set_submission_state(session, RUN, name, "refused", reason=reason)

    @property
    def ledger(self) -> list[Disclosed]:
        with self.database.reading() as session:
            return read_ledger(read_run_file(session, RUN, LEDGER) or b"")

    def execute(self, *, stop_after: int | None = None) -> None:
        """Run the agreed search on the nodes, or go on with it, as an honest platform does."""
        stored = self.stored
        self.execution.close()

        def watch(progress: Progress) -> None:
            if progress.generation == stop_after:
                raise KeyboardInterrupt

        self.execution.engine = SecureEngine(stored.agreement, self.cluster.config)
        self.execution.engine.__enter__()
        self.execution.engine.start(stored.signatures, [each.rows for each in stored.rows])
        agreed = Agreed(
            agreement=stored.agreement, signatures=stored.signatures, manifests=stored.manifests()
        )
        with TemporaryDirectory() as made:
            folder = Path(made)
            with self.database.reading() as session:
                restore_files(session, RUN, folder)
            found = self._found(agreed, folder, watch)
            files = {path.name: path.read_bytes() for path in folder.iterdir()}
        end: RunState = "finished" if stop_after is None else "interrupted"
        with self.database.writing() as session:
            for name, data in files.items():
                replace_run_file(session, RUN, name, data)
            set_state(session, RUN, "submitted")
            set_state(session, RUN, "running")
            set_state(session, RUN, end, result=result_of(found, stored.agreement))

    def _found(self, agreed: Agreed, folder: Path, watch: Observer) -> Report:
        with agreed_driver(agreed, self.cluster.config, folder) as driver:
            drive(driver, until=time.monotonic() + 300, observe=watch)
            generation = driver.progress().generation
            return Report(
                stage="ended",
                generation=generation,
                plans=driver.plans(),
                values=driver.values(),
            )


@contextmanager
def served(platform: Platform) -> Iterator[Platform]:
    """Serve it over TLS from a thread for as long as the block lasts."""
    with listening(platform.settings, platform.app):
        try:
            yield platform
        finally:
            platform.execution.close()
