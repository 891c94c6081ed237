"""The letters that arrive at each party, without the hashes of their pieces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from numpy.typing import NDArray

from tacit.mpc import letters as letters_module
from tacit.mpc import session as session_module

Arrived = dict[int, list[NDArray[Any]]]


@contextmanager
def letters_seen() -> Iterator[Arrived]:
    """What parties in memory receive from now on, by receiver and in its order."""
    seen: Arrived = defaultdict(list)

    def noted(letters: Any, payloads: Any, me: int, names: Any) -> dict[int, NDArray[Any]]:
        arrived = letters_module.opened(letters, payloads, me, names)
        seen[me] += [arrived[number] for number in sorted(arrived)]
        return arrived

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_module, "opened", noted)
        yield seen
