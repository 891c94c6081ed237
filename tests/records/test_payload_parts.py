"""The plan from the parts of four nodes: one that sends anything else changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.errors import AbortError
from tacit.mpc import deal, held_by
from tacit.records.payload_parts import join_parts
from tests.on_nodes.owners_cast import owners_cast
from tests.on_nodes.sealed_agreed_cluster import ASSIGNMENTS

AGREEMENT = owners_cast(4, plan_for="everybody").agreement
PLAN, PROVED = [3, 0, 7, 2, 5, 1], 1


def sent(*heads: int) -> list[list[bytes]]:
    """What each of four nodes sends of a plan, and of what is proved of it."""
    shares = deal(np.array([*heads, *PLAN], dtype=AGREEMENT.sealed_run.group_of(0).word), nodes=4)
    return [[s.parts[c].tobytes() for c in held_by(k, 4)] for k, s in enumerate(shares)]


def joined(parts: dict[int, list[bytes]]) -> list[int]:
    whole = [[(0, parts[node])] if node in parts else [] for node in range(4)]
    return join_parts(AGREEMENT, 0, whole).plan


@pytest.mark.parametrize("liar", range(4))
@pytest.mark.parametrize("lie", ["cut off", "too few", "nothing", "other numbers"])
def test_one_liar_of_four_changes_nothing(liar: int, lie: str) -> None:
    parts = dict(enumerate(sent(PROVED)))
    true = parts[liar]
    lies = {
        "cut off": [part[:-1] for part in true],
        "too few": true[:-1],
        "nothing": [],
        "other numbers": [part[::-1] for part in true],
    }
    parts[liar] = lies[lie]
    assert joined(parts) == PLAN
    if lie != "nothing":
        # Without another of them it is not known who lies, and nothing is accepted.
        with pytest.raises(AbortError, match=r"the nodes: (sent too few|opened different)"):
            joined({node: part for node, part in parts.items() if node != (liar + 1) % 4})


def test_what_is_proved_is_a_bit_and_fits_the_gap() -> None:
    with pytest.raises(AbortError, match="not an outcome"):
        joined(dict(enumerate(sent(2))))
    agreement = owners_cast(
        4, plan_for="everybody", parameters=replace(ASSIGNMENTS, gap=10)
    ).agreement

    def outcome(*heads: int) -> tuple[str | None, int | None]:
        whole = [[(0, each)] for each in sent(*heads)]
        found = join_parts(agreement, 0, whole)
        return found.outcome, found.gap

    # Bounds are at most 1000 for each of six rows: the steps are 0, 1, 10, 100, 1000 and 6000.
    assert outcome(1, 5) == ("optimum", 0)
    assert outcome(0, 4) == ("feasible", 1)
    assert outcome(0, 0) == ("feasible", 6000)
    for heads in ((1, 4), (0, 5), (1, 6)):
        with pytest.raises(AbortError, match="a gap that does not fit"):
            outcome(*heads)
