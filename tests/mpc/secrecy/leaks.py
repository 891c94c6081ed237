"""Whether an observer of a protocol can distinguish two secrets, by enumerating its views."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tacit.mpc.shares import COORDINATOR, NODES, BitShare, Share
from tests.mpc.secrecy.views import Protocol, Setting, Weaken, honest, views

Make = Callable[[list[Any]], Protocol]


def seeds(weaken: Weaken) -> range:
    """How often the observer's own shares and masks are drawn anew; a leak may need some luck."""
    return range(2) if weaken is honest else range(6)


def shares_seen_alike(
    secret: Sequence[int],
    observer: int,
    kind: type[Share],
    *,
    ring: int,
    seed: int,
    dtype: Any = np.uint64,
) -> list[Any]:
    """Shares of which the observer's own part is the same whatever the secret is."""
    rng = np.random.default_rng(seed + 10)
    shape = len(secret)
    parts: dict[int, Any] = {
        c: rng.integers(0, 1 << ring, shape, dtype=dtype) for c in (observer, (observer + 1) % 3)
    }
    held = list(parts.values())
    value = np.array(secret, dtype=dtype)
    missing = value ^ held[0] ^ held[1] if kind is BitShare else value - held[0] - held[1]
    parts[(observer + 2) % 3] = missing & np.array((1 << ring) - 1, dtype=dtype)
    return [kind(parts[i], parts[(i + 1) % 3]) for i in NODES]


def leaks(
    make: Make,
    secrets: Sequence[Sequence[int]],
    observers: Sequence[int],
    kind: type[Share],
    *,
    ring: int,
    setting: Setting,
    reduce: bool,
) -> bool:
    """Whether the observers' view distinguishes the secrets, for some of their own randomness."""
    node = next(o for o in observers if o != COORDINATOR)

    async def look(seed: int) -> bool:
        counts = [
            await views(
                make(shares_seen_alike(secret, node, kind, ring=ring, seed=seed)),
                observers,
                setting=setting,
                ring=ring if reduce else None,
                seed=seed,
            )
            for secret in secrets
        ]
        return any(c != counts[0] for c in counts[1:])

    return any(asyncio.run(look(seed)) for seed in seeds(setting.weaken))
