"""The same disclosures with MPyC's library functions, to compare with.

Run as a script with MPyC's own options it starts three processes and prints the median seconds:
`python -m studies.benchmarks.engine_mpyc -M3 300 100 order 3`. The weights are shared beforehand,
and the candidates are known to everybody. MPyC gets the easier task throughout: it need not hide
from the parties what the coordinator learns, it enforces nothing, and the three best of `above` are
left out.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.disclosure import split_disclosure
from tacit.errors import EngineError

_LIMIT_SECONDS = 600
LARGEST_WEIGHT = 1000


def seconds_with_mpyc(
    disclosures: Sequence[str], /, *, population: int, size: int, repeats: int = 3
) -> dict[str, float]:
    """The median seconds of each disclosure, on three local processes."""
    if not disclosures:
        return {}
    run = subprocess.run(
        [
            *(sys.executable, "-m", "studies.benchmarks.engine_mpyc", "-M3", "--no-log"),
            *(str(population), str(size), ",".join(disclosures), str(repeats)),
        ],
        capture_output=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith(b"{")]
    if run.returncode or not lines:
        said = run.stderr.decode()[-300:].strip()
        raise EngineError(f"MPyC did not run ({said}); install it with pip install -e '.[studies]'")
    found: dict[str, float] = json.loads(lines[-1])
    return found


async def _disclose(mpc: Any, fitness: Any, text: str) -> None:
    """Compute and open one disclosure of an array of secrets, and the best fitness."""
    n = len(fitness)
    kind, parameter = split_disclosure(text)
    if kind == "none":
        await mpc.output(fitness)
        return
    keys = fitness * (1 << (n - 1).bit_length()) + np.arange(n - 1, -1, -1)
    if kind == "order":
        rows = mpc.np_stack([keys, 0 * keys + np.arange(n)])
        in_order = mpc.np_sort(rows, key=lambda row: row[0])
        await mpc.output(in_order[1])
    elif kind in ("top", "quantiles"):
        in_order = mpc.np_sort(keys)
        ends = [parameter] if kind == "top" else [n * j // parameter for j in range(1, parameter)]
        for end in ends:
            await mpc.output(keys >= in_order[n - end])
    else:
        low, high = mpc.np_amin(fitness), mpc.np_amax(fitness)
        span = high - low
        if kind == "above":
            await mpc.output(100 * (fitness - low) >= parameter * span)
        else:
            distance = parameter * (high - fitness)
            await mpc.gather([mpc.output(distance <= j * span) for j in range(1, parameter)])
    await mpc.output(mpc.np_amax(fitness))


async def _measure(mpc: Any, arguments: list[str]) -> None:
    population, size, repeats = int(arguments[0]), int(arguments[1]), int(arguments[3])
    # Room for keys with an index, and for hundredths of the span.
    bits = (LARGEST_WEIGHT * size).bit_length() + max((population - 1).bit_length(), 7) + 2
    secret = mpc.SecInt(bits)
    rng = np.random.default_rng(1)
    found = {}
    await mpc.start()
    for text in arguments[2].split(","):
        times = []
        for _ in range(repeats):
            matrix = rng.integers(0, LARGEST_WEIGHT + 1, (size, size))
            weights = mpc.input(secret.array(matrix), senders=0)
            await mpc.gather(weights)
            plans = rng.permuted(np.tile(np.arange(size), (population, 1)), axis=1)
            started = time.perf_counter()
            fitness = mpc.np_sum(weights[np.arange(size)[None, :], plans], axis=1)
            await _disclose(mpc, fitness, text)
            times.append(time.perf_counter() - started)
        found[text] = statistics.median(times)
    if mpc.pid == 0:
        print(json.dumps(found), flush=True)
    await mpc.shutdown()


if __name__ == "__main__":
    from mpyc.runtime import mpc as runtime

    runtime.run(_measure(runtime, sys.argv[1:]))
