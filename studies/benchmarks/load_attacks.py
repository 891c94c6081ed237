"""Load attacks of one platform, and what another one notices of them: real nodes, real links.

While an attacker's process does its worst, another platform evaluates 100 plans of 20 x 20 and
pings a node. Per attack: the largest memory of a node, and how long pings and evaluations took.
`python -m studies.benchmarks.load_attacks --json FILE`, on an idle machine.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from studies.benchmarks.measuring import options_of, write_json
from studies.benchmarks.two_platforms import (
    ATTACKS,
    MEGABYTE,
    POPULATION,
    SMALL,
    Platform,
    answered,
    assignment,
    attack,
    forget_peaks,
    peak_megabytes,
    plans,
    two_platforms,
)
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluations
from tacit.coordinator.node_client import NodeClient
from tacit.errors import EngineError, TacitError
from tacit.local.cluster import LocalCluster
from tacit.records.events import RequestRefused
from tacit.records.messages import Ping
from tacit.records.node_log import NodeLog

LATE_SECONDS = 10.0


@dataclass
class Outcome:
    """What an attack did to the nodes and to the other platform."""

    attack: str
    peak_megabytes: list[int]
    pings: int
    ping_median_ms: float
    ping_worst_ms: float
    agreements: int
    """Of the other platform, evaluated side by side."""
    evaluations: int
    evaluation_median_ms: float
    evaluation_worst_ms: float
    failed: int
    """Evaluations without an answer in ten seconds."""


@dataclass
class Restart:
    """What a node takes to start with a long log of an agreement."""

    log_megabytes: int
    checkpoint: bool
    """Whether the log was written with checkpoints, or before there were such."""
    seconds: float
    peak_megabytes: int


async def _pings(client: NodeClient, until: float) -> list[float]:
    took = []
    while time.monotonic() < until:
        begun = time.monotonic()
        with suppress(TacitError, TimeoutError):
            async with asyncio.timeout(LATE_SECONDS):
                await client.connect()
                await (await client.ask(Ping()))
        took.append(1000 * (time.monotonic() - begun))
        await asyncio.sleep(0.05)
    return took


async def _evaluations(coordinator: Coordinator, until: float) -> tuple[list[float], int]:
    evaluations, took, failed = Evaluations(coordinator, 0), [], 0
    seed = 0
    while time.monotonic() < until:
        seed += 1
        population, begun = plans(SMALL, POPULATION, seed=seed), time.monotonic()
        try:
            latest = asyncio.get_running_loop().time() + LATE_SECONDS
            await evaluations.evaluate(population, until=latest)
        except TacitError:
            failed += 1
        took.append(1000 * (time.monotonic() - begun))
        await asyncio.sleep(0.05)
    return took, failed


async def _ready(cluster: LocalCluster) -> Coordinator:
    victim = Platform(cluster.folder, "platform")
    agreement, signatures, sealed = victim.agree(assignment(SMALL), POPULATION)
    coordinator = Coordinator(agreement, victim.clients())
    await coordinator.start(signatures, sealed, within=60)
    return coordinator


async def _measure(name: str, cluster: LocalCluster, seconds: float, agreements: int) -> Outcome:
    coordinators = [await _ready(cluster) for _ in range(agreements)]
    pinged = Platform(cluster.folder, "platform").clients()[0]
    await pinged.connect()
    forget_peaks(cluster)
    process = multiprocessing.get_context("spawn").Process(
        target=attack, args=(name, str(cluster.folder)), daemon=True
    )
    process.start()
    until = time.monotonic() + seconds
    pinging = asyncio.ensure_future(_pings(pinged, until))
    evaluated = await asyncio.gather(*(_evaluations(each, until) for each in coordinators))
    pings = await pinging
    if not process.is_alive():
        raise EngineError(f"the attacker of {name} ended by itself; nothing was measured")
    process.kill()
    process.join()
    await pinged.disconnect()
    for coordinator in coordinators:
        await coordinator.close()
    took = [each for times, _ in evaluated for each in times]
    return Outcome(
        name,
        peak_megabytes(cluster),
        len(pings),
        round(float(np.median(pings)), 1),
        round(max(pings), 1),
        agreements,
        len(took),
        round(float(np.median(took)), 1),
        round(max(took), 1),
        sum(failed for _, failed in evaluated),
    )


def _restarts(megabytes: int) -> list[Restart]:
    """Start a node with the log that a flood of refusals would have left before."""
    found = []
    with two_platforms() as cluster:
        asyncio.run(_close_one(cluster))
        cluster.kill(0)
        path = next((cluster.folder / "node-0.data").glob("*/log.jsonl"))
        log = NodeLog(path)
        while log.size < megabytes * MEGABYTE:
            log.append(RequestRefused("evaluate", "x" * 500))
        for checkpoint in (True, False):
            if not checkpoint:
                path.with_suffix(".checkpoint").unlink(missing_ok=True)
            begun = time.monotonic()
            cluster.restart(0)
            asyncio.run(answered(cluster))
            took = round(time.monotonic() - begun, 2)
            found.append(Restart(megabytes, checkpoint, took, peak_megabytes(cluster)[0]))
            cluster.kill(0)
    return found


async def _close_one(cluster: LocalCluster) -> None:
    await (await _ready(cluster)).close()


def _line(found: Outcome) -> str:
    ping = f"ping {found.ping_median_ms:7.1f} ms, worst {found.ping_worst_ms:8.1f}"
    took = (
        f"evaluation {found.evaluation_median_ms:7.1f} ms, worst {found.evaluation_worst_ms:8.1f}"
    )
    failed = f"{found.failed} of {found.evaluations} failed"
    return f"{found.attack:20} {max(found.peak_megabytes):5} MB   {ping}   {took}, {failed}"


def main(arguments: list[str]) -> int:
    """Every attack on nodes of its own, and a table or JSON."""
    parser = options_of(__file__, __doc__, only=list(ATTACKS))
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each attack lasts")
    parser.add_argument("--agreements", type=int, default=3, help="of the other platform")
    parser.add_argument("--log-megabytes", type=int, default=300, help="a log to start with")
    chosen = parser.parse_args(arguments)
    outcomes = []
    for name in chosen.only:
        with two_platforms() as cluster:
            measured = _measure(name, cluster, chosen.seconds, chosen.agreements)
            outcomes.append(asyncio.run(measured))
        print(_line(outcomes[-1]), flush=True)
    restarts = [] if len(chosen.only) < len(ATTACKS) else _restarts(chosen.log_megabytes)
    write_json(chosen.json, {"attacks": outcomes, "restarts": restarts})
    for each in restarts:
        how = "with" if each.checkpoint else "without"
        print(
            f"start with a log of {each.log_megabytes} MB {how} checkpoint: {each.seconds} s, "
            f"{each.peak_megabytes} MB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
