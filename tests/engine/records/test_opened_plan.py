"""The plan from the parts of four nodes: one that sends anything else changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.engine.agreement.sealed import plan_word
from tacit.engine.records import OpenedPlan, join_parts
from tacit.errors import AbortError
from tacit.mpc import deal, held_by
from tests.verify.test_recorded_lies import recorded

AGREEMENT, _, LEDGER = recorded("sealed")
FOUR = replace(AGREEMENT, nodes=[*AGREEMENT.nodes, AGREEMENT.nodes[0]])
OPENED = next(entry for entry in LEDGER if isinstance(entry, OpenedPlan))


def sent() -> list[list[bytes]]:
    """What each of four nodes sends of the recorded plan."""
    word = plan_word(AGREEMENT, 0)
    values = [*([] if OPENED.value is None else [OPENED.value]), *OPENED.plan]
    shares = deal(np.array(values, dtype=word), nodes=4)
    return [[s.parts[c].tobytes() for c in held_by(k, 4)] for k, s in enumerate(shares)]


def joined(parts: dict[int, list[bytes]]) -> list[int]:
    whole = [[(0, parts[node])] if node in parts else [] for node in range(4)]
    return join_parts(FOUR, 0, whole).plan


@pytest.mark.parametrize("liar", range(4))
@pytest.mark.parametrize("lie", ["cut off", "too few", "nothing", "other numbers"])
def test_one_liar_of_four_changes_nothing(liar: int, lie: str) -> None:
    parts = dict(enumerate(sent()))
    true = parts[liar]
    lies = {
        "cut off": [part[:-1] for part in true],
        "too few": true[:-1],
        "nothing": [],
        "other numbers": [part[::-1] for part in true],
    }
    parts[liar] = lies[lie]
    assert joined(parts) == OPENED.plan
    if lie != "nothing":
        # Without another of them it is not known who lies, and nothing is accepted.
        with pytest.raises(AbortError, match=r"the nodes: (sent too few|opened different)"):
            joined({node: part for node, part in parts.items() if node != (liar + 1) % 4})
