"""Which head the first run of a series names whose balances come from other nodes."""

from __future__ import annotations

import pytest

from tacit.engine.coordinator.earlier_nodes import _common_head
from tacit.engine.wire.replies import HeadTold
from tacit.errors import MpcError


def told(head: str, pending: str = "", counted: int = 7) -> HeadTold:
    return HeadTold(id=1, head=head, counted=counted, pending=pending)


def test_one_of_four_cannot_name_a_head_of_its_own() -> None:
    honest = [told("a")] * 3
    for lie in (told("z", counted=1 << 40), told("z", "a", 99), told("a", "z")):
        for at in range(4):
            assert _common_head([*honest[:at], lie, *honest[at:]]) == "a"


def test_a_run_that_some_counted_and_others_prepared_is_in_it() -> None:
    assert _common_head([told("a", "b", 6), told("b"), told("b")]) == "b"
    assert _common_head([told("a", "b", 6), told("a", "b", 6), told("b")]) == "b"
    assert _common_head([told("a", "b", 6)] * 3) == "a"
    # One has counted, two have prepared, and the fourth says whatever makes both alike.
    for lie in (told("a"), told("z", "a")):
        assert _common_head([lie, told("a", "b"), told("a", "b"), told("b")]) == "b"


def test_books_that_do_not_fit_together_do_not_move() -> None:
    with pytest.raises(MpcError, match="counted different runs"):
        _common_head([told("a"), told("b"), told("b")])
