"""Runs from an agreement: no weights here, only nodes that hold them.

A run that was interrupted goes on in its folder, with the same nodes under the same agreement. It
is resumed from a checkpoint, then from the answers in the ledger, then by the nodes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.agreement import Agreement, manifests_digest, search_seed
from tacit.coordinator import SecureEngine
from tacit.derived import agreed_parameters, with_public_weights
from tacit.errors import FileError
from tacit.evaluators import RevealedFront
from tacit.files import keep_on_disk, replace_file
from tacit.identity import ClusterConfig
from tacit.problems import Problem
from tacit.records import DisclosedBest, DisclosedFront, FileLedger, Keep, PlanParts
from tacit.runs.agreed_ledger import LedgerObjective, answered, objectives_from, revealed
from tacit.runs.checkpoint import load_checkpoint, save_checkpoint
from tacit.runs.driver import SearchDriver, drive
from tacit.runs.evaluating import EvaluatingDriver
from tacit.runs.limits import Limits, StopReason
from tacit.runs.sealed import SealedDriver
from tacit.search import SearchParameters, warm_up

CHECKPOINT_SECONDS = 3.0
CHECKPOINTS = ("checkpoint-0", "checkpoint-1")
REVEALING = "revealing"
"""A file that exists as soon as nodes may have revealed the best plan. From then on they evaluate
nothing new, and a resumed run only asks which plan it was."""


COUNTING = "counting"
"""A file with the plan that nodes may have counted, where balances are kept: the result is that
one, and nothing else follows."""


class PlanCounted(msgspec.Struct, frozen=True):
    """The plan that a run is counted with, and after how many evaluations."""

    evaluations: int
    plan: list[int]


_READ_COUNTED = msgspec.json.Decoder(PlanCounted)


def plan_counted(folder: Path, /) -> PlanCounted | None:
    """The plan that nodes may have counted, if it has come to that."""
    path = folder / COUNTING
    return _READ_COUNTED.decode(path.read_bytes()) if path.exists() else None


@dataclass(eq=False, kw_only=True)
class AgreedEvaluating(EvaluatingDriver):
    """Saves itself every few seconds, and reveals once; counts once, where balances are kept."""

    folder: Path
    keep: Keep
    count: Callable[[NDArray[np.int32], float | None], str] | None = None
    """Has the run counted with a plan; the head of the counted runs with it."""
    can_resume = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._saved = time.monotonic()
        self._checkpoints = 0
        self._counts = self.count is None

    def advance(self) -> StopReason | None:
        """Evaluate one generation, unless the reveal or the count has begun."""
        revealing = self.reveals and (self.folder / REVEALING).exists()
        # After a reveal or a count nodes refuse further evaluations, so none is asked for.
        if self.ends and (revealing or plan_counted(self.folder) is not None):
            used_up = self.limits.reached(
                generation=0, evaluations=self.now.evaluations, stalled_for=0, target_met=False
            )
            return used_up or StopReason.DEADLINE
        return super().advance()

    def reveal(self, plans: NDArray[np.int32], /, *, until: float | None) -> int:
        """Reveal once: read it from the ledger, or ask the nodes."""
        known = revealed(self.folder / LEDGER)
        if isinstance(known, DisclosedBest):
            return known.index
        self._mark_revealing()
        return super().reveal(plans, until=until)

    def reveal_front(self, plans: NDArray[np.int32], /, *, until: float | None) -> RevealedFront:
        """Reveal once: read it from the ledger, or ask the nodes."""
        known = revealed(self.folder / LEDGER)
        if isinstance(known, DisclosedFront):
            return RevealedFront(known.nondominated, known.values)
        self._mark_revealing()
        return super().reveal_front(plans, until=until)

    def _mark_revealing(self) -> None:
        # Before nodes are asked: they evaluate nothing after a reveal, so a resumed run must know.
        (self.folder / REVEALING).touch()
        self.keep(self.folder / REVEALING)

    def finish(self, reason: StopReason, /) -> None:
        """Reveal what was agreed, and have the run counted with its plan before that is a result.

        A run that has asked for a count asks for the same plan again, even after a crash.
        """
        chosen = plan_counted(self.folder) if self.ends else None
        if chosen is None:
            super().finish(reason)
        aborted = reason in (StopReason.INTERRUPTED, StopReason.NODES)
        known = self.now.best_known
        if not self.ends or self.count is None or known is None or (chosen is None and aborted):
            return
        plans: list[list[int]] = self.problem.plans(known.genomes).tolist()
        if chosen is None:
            chosen = PlanCounted(self.now.evaluations, plans[self._best_plan])
            # Kept before nodes are asked: whoever resumes the run asks for the same plan. First
            # what was revealed, as it is not asked for again.
            if self.reveals:
                self.keep(self.folder / LEDGER)
            replace_file(self.folder / COUNTING, msgspec.json.encode(chosen))
            self.keep(self.folder / COUNTING)
        self._best_plan = plans.index(chosen.plan)
        self.count(np.array(chosen.plan, dtype=np.int32), self._end)
        # Only now is the plan shown: one that is not counted could be used without entering
        # balances.
        self._counts = True

    def plans(self) -> list[list[int]]:
        """The best-known plans; where balances are kept, none before the run counts."""
        return super().plans() if self._counts else []

    def saved_as(self, number: int, /) -> None:
        """It was resumed from this checkpoint, which the next one leaves as it is."""
        self._checkpoints = number

    def is_checkpoint_due(self) -> bool:
        return time.monotonic() - self._saved >= CHECKPOINT_SECONDS

    def checkpoint(self) -> None:
        """Write a checkpoint over the older of two."""
        self._saved = time.monotonic()
        # The newer one stays: right after a checkpoint the ledger does not go beyond it, and a run
        # is resumed from one that the ledger goes beyond.
        self._checkpoints += 1
        path = self.folder / CHECKPOINTS[self._checkpoints % len(CHECKPOINTS)]
        save_checkpoint(self, path)
        if path.exists():
            self.keep(path)


def resumed(
    problem: Problem,
    parameters: SearchParameters,
    engine: SecureEngine,
    folder: Path,
    keep: Keep,
    /,
    *,
    seed: int,
    account: float = 0.0,
) -> AgreedEvaluating:
    """The search as far as the files go; what is answered takes no time of anybody's deadline."""
    agreement = engine.agreement

    def fresh(skip: int) -> AgreedEvaluating:
        evaluator = objectives_from(
            agreement,
            problem,
            folder / LEDGER,
            estimator=parameters.estimator,
            skip=skip,
            engine=engine,
        )
        first = evaluator.objectives[0]

        def count(plan: NDArray[np.int32], until: float | None) -> str:
            assert isinstance(first, LedgerObjective)
            return first.count(plan, until=until)

        return AgreedEvaluating(
            problem,
            parameters,
            evaluator,
            seed=seed,
            limits=Limits(evaluations=agreement.limits.evaluations),
            reveals=agreement.final_reveal is not None
            and (agreement.together or len(problem.objectives) == 1),
            engine="nodes",
            account=account,
            folder=folder,
            keep=keep,
            count=None if agreement.equity is None else count,
        )

    answers = min(answered(folder / LEDGER, agreement.evaluated()).values())
    chosen = plan_counted(folder)
    if chosen is not None:  # whatever was answered too late took no part in the choice
        answers = min(answers, chosen.evaluations)
    driver: AgreedEvaluating | None = None
    # The newest checkpoint that the ledger goes beyond, so that the last is asked anew: what it
    # evaluated last may have to be computed again on the nodes, and a checkpoint no longer knows
    # those candidates.
    newest = -1
    for number, name in enumerate(CHECKPOINTS):
        try:
            snapshot, history = load_checkpoint(folder / name, problem, parameters, seed=seed)
        # Missing, damaged or of another search: the ledger alone leads to the same place, more
        # slowly.
        except FileError:
            continue
        if newest < snapshot.evaluations < answers:
            newest = snapshot.evaluations
            driver = fresh(newest)
            driver.resume(snapshot, history)
            driver.saved_as(number)
    driver = driver or fresh(0)
    search_up_to(driver, answers)
    return driver


def search_up_to(driver: EvaluatingDriver, evaluations: int, /) -> None:
    """Search without a clock until so many evaluations are done; reveal and count nothing."""
    if evaluations <= driver.now.evaluations:
        return
    limits = driver.limits
    driver.limits, driver.ends = Limits(evaluations=evaluations), False
    drive(driver)
    driver.limits, driver.ends = limits, True


LEDGER = "ledger.jsonl"


@dataclass(frozen=True, kw_only=True)
class Agreed:
    """An agreement with its signatures and the manifests of what was sealed under it."""

    agreement: Agreement
    signatures: Mapping[str, bytes]
    manifests: Mapping[int, Sequence[bytes]]
    """Per objective, in the agreement's order of owners."""
    public: Mapping[int, NDArray[np.int64]] = field(default_factory=dict)
    """The weights of public objectives."""
    fence: int = 0
    """Higher than that of any process of the platform that had the run before."""


# The search that an agreement names, on the nodes that hold its weights.


ENTER_SECONDS = 20.0
"""How long nodes may take to be there at the start."""
START_SECONDS = 60.0
"""How long busy nodes may take to draw the first plan of a sealed run: without it there is none."""
OPEN_SECONDS = 0.2
"""What sealed searches leave of their time, besides what each reserves for its opening, or a tenth
of it if that is less: whoever is late has no plan at all."""

LOG_SECONDS = 5.0
"""How long busy nodes may take to write down the last answer, after the run has its result."""
ACCOUNT_SECONDS = 0.5
"""What counting a run for balances may take, where they are kept."""


@contextmanager
def agreed_driver(
    agreed: Agreed, cluster: ClusterConfig, folder: Path, /, *, keep: Keep = keep_on_disk
) -> Iterator[SearchDriver]:
    """Connect to the nodes, and resume what is in the folder and on the nodes.

    `keep` is called with each file that has to survive a crash before the search goes on.
    """
    agreement = agreed.agreement
    with (
        closing(FileLedger(folder / LEDGER, keep=keep)) as ledger,
        SecureEngine(
            agreement,
            cluster,
            ledger=ledger,
            public=agreed.public,
            plan_parts=PlanParts(folder, keep=keep),
            fence=agreed.fence,
        ) as engine,
    ):
        if agreement.sealed:
            yield _sealed(agreed, engine)
        else:
            yield _evaluating(agreed, engine, folder, keep)
            engine.wait(engine.submit(_until_logged(engine)), until=None)


def _evaluating(agreed: Agreed, engine: SecureEngine, folder: Path, keep: Keep) -> SearchDriver:
    """The seed follows from the manifests and from what the nodes drew together."""
    agreement, manifests = agreed.agreement, agreed.manifests
    problem, parameters = (
        with_public_weights(agreement, agreed.public),
        agreed_parameters(agreement),
    )
    words = engine.enter(agreed.signatures, within=ENTER_SECONDS)
    digests = {k: manifests_digest(manifests[k]) for k in agreement.confidential()}
    # From what was sealed and what the nodes drew afterwards: whoever seals last cannot try costs
    # until it likes the seed.
    seed = search_seed(agreement, digests, words)
    account = _account_seconds(agreement)
    driver = resumed(problem, parameters, engine, folder, keep, seed=seed, account=account)
    warm_up(problem, parameters)
    return driver


async def _until_logged(engine: SecureEngine) -> None:
    """Wait until all nodes have written down the last answer, which is what proves it.

    A node that we leave before breaks off what it does for us.
    """
    numbers = engine.agreement.confidential()
    replies = [reply for k in numbers for reply in engine.evaluations(k).open_replies]
    if replies:
        await asyncio.wait(replies, timeout=LOG_SECONDS)


def _sealed(agreed: Agreed, engine: SecureEngine) -> SearchDriver:
    """Nothing is kept here but the ledger: the nodes keep the states of their searches."""
    engine.enter(agreed.signatures, within=ENTER_SECONDS)
    searches = engine.sealed_groups()
    for search in searches:
        search.start(until=time.monotonic() + START_SECONDS)
    return SealedDriver(
        agreed.agreement.sealed_run,
        searches,
        Limits(generations=agreed.agreement.limits.evaluations),
        engine="nodes",
        spare=OPEN_SECONDS,
        account=_account_seconds(agreed.agreement),
    )


def _account_seconds(agreement: Agreement) -> float:
    return 0.0 if agreement.equity is None else ACCOUNT_SECONDS
