"""A series with equity on a running cluster, run by run, and its twin in the clear."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from dataclasses import replace as changed
from functools import partial
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace
from numpy.typing import NDArray

from tacit.agreement import (
    RunOfSeries,
    Series,
    SignedSeries,
    canonical,
    draft_agreement,
    equity_shape,
    pin_sealed,
    series_hash,
    sign_series,
)
from tacit.agreement.sealing import SealedRows
from tacit.agreement.terms import AgreementLimits, PinnedSearch, PlanFor
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.node_client import head_of_series
from tacit.coordinator.sealed_search import OpenedByNodes, SealedSearch
from tacit.disclosure import BestMode, parse_disclosure
from tacit.equity import (
    EquityRule,
    EquityTerms,
    RunEquity,
    StepBook,
    balance_of,
    columns_of,
    empty_book,
    factor_of,
    first_come,
    saved_shares,
    steps_of,
)
from tacit.local.cluster import LocalCluster
from tacit.local.engine import node_offers, platform_certificate, public_keys
from tacit.mpc.local import reveal
from tacit.node.series import FOLDER, KeptBook
from tacit.problems import Problem, generate_assignment
from tacit.search.moves import AssignmentParameters
from tests.agreement.made_series import series_like
from tests.on_nodes.agreed_cluster import AgreedCluster

TERMS = EquityTerms(
    levels=4, decay=980, spacing=8, reference="first come", told="level", every=1, spread=True
)
SETTINGS = AssignmentParameters(generations=2, iterations=28)
BOUND = 1000
GENETIC = PinnedSearch("genetic", {"population": 8, "elites": 2}, None, "derived")
"""For runs whose ranks are disclosed."""


def problem_of(
    seed: int,
    rows: int = 6,
    columns: int = 8,
    participants: int = 3,
    disclose: str = "sealed",
    best: BestMode = BestMode.NOTHING,
) -> Problem:
    """Costs of another day; those of the last are larger."""
    made = generate_assignment(seed, rows=rows, columns=columns, participants=participants)
    weights = np.random.default_rng(seed).integers(0, 200, (rows, columns))
    for place, each in enumerate(made.participants):
        weights[list(each.rows)] *= 1 + place
    objective = changed(
        made.objectives[0],
        weights=weights,
        sense="minimize",
        disclosure=parse_disclosure(disclose),
        best_mode=best,
        weight_bound=BOUND,
    )
    return changed(made, objectives=(objective,))


@dataclass
class Clear:
    """The twin: everybody's own steps, over the integers."""

    rule: EquityRule
    own: dict[str, list[int]] = field(default_factory=dict)

    def balance(self, name: str) -> int:
        return balance_of(self.own.get(name, [])[-64:], self.rule)

    def factor(self, name: str) -> int:
        return factor_of(self.balance(name), self.rule)

    def count(self, run: AgreedCluster, plan: Sequence[int]) -> NDArray[np.int64]:
        agreement = run.agreement
        assert agreement.equity is not None
        weights = run.problem.objectives[0].weights
        assert weights is not None
        shape = equity_shape(agreement)
        reference, found = (
            columns_of(run.problem, each) for each in (agreement.equity.reference, plan)
        )
        saved = saved_shares(weights, reference, found, shape)
        for at, step in zip(shape.active, steps_of(saved), strict=True):
            self.own.setdefault(agreement.participants[at].name, []).append(int(step))
        return saved


@dataclass
class EquitySeries:
    """The parties of a series with equity, with all that they know."""

    cluster: LocalCluster
    keys: dict[str, Ed25519PrivateKey]
    series: Series
    clear: Clear
    number: int = 0

    @classmethod
    def draft(
        cls, cluster: LocalCluster, terms: EquityTerms = TERMS, names: int = 3, **changes: Any
    ) -> EquitySeries:
        problem = changes.pop("problem", None) or problem_of(1, participants=names)
        pinned = changes.pop("pinned", None)
        plan = changes.pop("plan", "everybody")
        keys = changes.pop("keys", None) or {
            each.name: Ed25519PrivateKey.generate() for each in problem.participants
        }
        pattern = _agreement(cluster, problem, keys, pinned=pinned, plan=plan).agreement
        series = series_like(
            pattern,
            equity=terms,
            limits={
                "evaluations": pattern.limits.evaluations,
                "population_min": pattern.limits.population_min,
                "population_max": pattern.limits.population_max,
                "distinct_min": pattern.limits.distinct_min,
                "run_hours": 2.0,
                "runs_per_day": 100,
            },
            varying={
                "least_rows": 3,
                "most_rows": 60,
                "most_columns": 80,
                "least_participants": 3,
            },
            **changes,
        )
        return cls(cluster, keys, series, Clear(terms.rule))

    @property
    def signed(self) -> SignedSeries:
        signatures = {name: sign_series(self.series, key) for name, key in self.keys.items()}
        return SignedSeries(canonical(self.series), signatures)

    def next_run(self, problem: Problem, **changes: Any) -> AgreedCluster:
        """The agreement of the next run, as an honest platform drafts it."""
        self.number += 1
        assert self.series.equity is not None
        pinned = self.series.search
        plan = self.series.plan
        run = _agreement(
            self.cluster, problem, self.keys, series_hash(self.series), pinned=pinned, plan=plan
        )
        head = changes.pop("head", None) or run.head
        equity = RunEquity(
            terms=self.series.equity, head=head, reference=first_come(run.agreement.known_problem)
        )
        run.agreement = replace(
            run.agreement,
            series=RunOfSeries(series_hash(self.series), changes.pop("number", self.number)),
            equity=changes.pop("equity", equity),
            **changes,
        )
        return run

    @asynccontextmanager
    async def begun(self, run: AgreedCluster) -> AsyncIterator[SealedSearch]:
        """A run whose inputs are frozen, and whose search has started."""
        async with run.coordinator() as coordinator:
            await hand_over(self, run, coordinator)
            search = SealedSearch(coordinator, 0)
            await search.start(until=None)
            yield search

    async def finish(self, run: AgreedCluster, generations: int = 4) -> OpenedByNodes:
        """A whole run; the twin counts it."""
        async with self.begun(run) as search:
            await search.advance(generations, generations, until=None)
            opened = await search.open(until=None)
        self.clear.count(run, opened.plan)
        return opened

    def books(self) -> list[StepBook]:
        """What the nodes have on their disks."""
        nodes = len(self.series.nodes)
        return [
            KeptBook(
                self.cluster.folder
                / f"node-{node}.data"
                / FOLDER
                / series_hash(self.series)
                / "book",
                empty_book(node, nodes, list(self.keys)),
            ).book
            for node in range(nodes)
        ]

    def balances(self) -> list[int]:
        """As the nodes have them, all together."""
        books = self.books()
        assert len({book.head for book in books}) == 1
        names = list(self.keys)
        found = reveal([book.balances(names, self.clear.rule) for book in books])
        return [int(each) for each in found]

    def expected(self) -> list[int]:
        return [self.clear.balance(name) for name in self.keys]


async def hand_over(series: EquitySeries, run: AgreedCluster, coordinator: Coordinator) -> None:
    """Agreement, sealed rows, and frozen inputs."""
    taken = await coordinator.start_agreement(run.signatures, within=60, series=series.signed)
    for rows in run.sealed():
        await coordinator.ask_all(partial(coordinator.submission, rows), within=60)
    if not all(0 in each.frozen for each in taken):
        await coordinator.prepare(0, until=asyncio.get_running_loop().time() + 60)


@dataclass
class _Run(AgreedCluster):
    head: str = ""
    rows: list[SealedRows] = field(default_factory=list)

    def sealed(self) -> list[SealedRows]:
        """Sealed once per agreement, however often they are handed over."""
        self.rows = self.rows or super().sealed()
        return self.rows


def _limits(pinned: PinnedSearch) -> AgreementLimits:
    expires = int(time.time()) + 3600
    if pinned.algorithm == GENETIC.algorithm:
        return AgreementLimits(6, 4, 300, 2, expires)
    if "children" in pinned.parameters:  # a tour
        return AgreementLimits(500, 1, 1, 1, expires)
    steps = int(pinned.parameters["generations"]) + int(pinned.parameters["iterations"])
    return AgreementLimits(steps, 1, 1, 1, expires)


def _agreement(
    cluster: LocalCluster,
    problem: Problem,
    keys: dict[str, Ed25519PrivateKey],
    series: str | None = None,
    *,
    pinned: PinnedSearch | None = None,
    plan: PlanFor = "everybody",
) -> _Run:
    pinned = pinned or pin_sealed(SETTINGS, [(1,)])
    nonce = secrets.token_hex(16)
    offers = node_offers(cluster.config, nonce, series=series)
    agreement = draft_agreement(
        problem,
        participants=public_keys(keys),
        nodes=[each.node for each in offers],
        platform=platform_certificate(cluster.config),
        search=pinned,
        limits=_limits(pinned),
        nonce=nonce,
        plan=plan,
    )
    own = {each.name: keys[each.name] for each in problem.participants}
    return _Run(cluster, problem, own, agreement, head_of_series(offers))
