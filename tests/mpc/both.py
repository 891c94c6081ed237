"""Every protocol is written once, for three nodes and for four; so is every test."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.mpc.cost import Cost
from tacit.mpc.local import PartiesRun

NUMBERS = (3, 4)
three_and_four = pytest.mark.parametrize("nodes", NUMBERS, ids=["three", "four"])


def check_cost(run: PartiesRun[Any], declared: Cost) -> None:
    """Rounds and bytes are measured as declared, exactly."""
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)
