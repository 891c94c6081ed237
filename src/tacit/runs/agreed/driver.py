"""The search that an agreement names, on the nodes that hold its weights.

A run that was interrupted goes on in its folder, with the same nodes under the same agreement.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tacit.agreement import Agreement, manifests_digest, search_seed
from tacit.coordinator import SecureEngine
from tacit.derived import agreed_parameters, with_public_weights
from tacit.identity import ClusterConfig
from tacit.records import FileLedger, PlanParts
from tacit.runs.agreed.agreed import LEDGER, Agreed
from tacit.runs.agreed.evaluating import resumed
from tacit.runs.driver import SearchDriver
from tacit.runs.limits import Limits
from tacit.runs.sealed.driver import SealedDriver
from tacit.search import warm_up

ENTER_SECONDS = 20.0
"""How long nodes may take to be there at the start."""
START_SECONDS = 60.0
"""How long busy nodes may take to draw the first plan of a sealed run: without it there is none."""
OPEN_SECONDS = 0.2
"""What sealed searches leave of their time, besides what each reserves for its opening, or a tenth
of it if that is less: whoever is late has no plan at all."""

LOG_SECONDS = 5.0
"""How long busy nodes may take to write down the last answer, when nobody waits for us any more."""
ACCOUNT_SECONDS = 0.5
"""What counting a run for balances may take, where they are kept."""


@contextmanager
def agreed_driver(
    agreed: Agreed, cluster: ClusterConfig, folder: Path, /
) -> Iterator[SearchDriver]:
    """Connect to the nodes, and resume what is in the folder and on the nodes."""
    agreement = agreed.agreement
    # Nodes that keep a state of their own repeat the last evaluation only.
    keeps = (
        agreement.sealed
        or agreement.search.populations == "derived"
        or any(terms.best == "improvement" for terms in agreement.objectives)
    )
    with (
        closing(FileLedger(folder / LEDGER, sync=keeps)) as ledger,
        SecureEngine(
            agreement, cluster, ledger=ledger, public=agreed.public, plan_parts=PlanParts(folder)
        ) as engine,
    ):
        if agreement.sealed:
            yield _sealed(agreed, engine)
        else:
            yield _evaluating(agreed, engine, folder, ledger)
            engine.wait(engine.submit(_until_logged(engine)), until=None)


def _evaluating(
    agreed: Agreed, engine: SecureEngine, folder: Path, ledger: FileLedger
) -> SearchDriver:
    """The seed follows from the manifests and from what the nodes drew together."""
    agreement, manifests = agreed.agreement, agreed.manifests
    problem, parameters = (
        with_public_weights(agreement, agreed.public),
        agreed_parameters(agreement),
    )
    words = engine.enter(agreed.signatures, within=ENTER_SECONDS)
    digests = {k: manifests_digest(manifests[k]) for k in agreement.confidential()}
    seed = search_seed(agreement, digests, words)
    account = _account_seconds(agreement)
    driver = resumed(problem, parameters, engine, folder, ledger, seed=seed, account=account)
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
