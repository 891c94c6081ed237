"""Disclosures and best-modes as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.disclosure import (
    PAPER_CONFIGURATIONS,
    Above,
    BestMode,
    Buckets,
    Disclosure,
    Exact,
    Order,
    Quantiles,
    Top,
    parse_best_mode,
    parse_disclosure,
)
from tacit.errors import DisclosureError, InputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", Exact()),
        ("order", Order()),
        ("quantiles:5", Quantiles(5)),
        ("buckets:20", Buckets(20)),
        ("top:1", Top(1)),
        ("above:0", Above(0)),
        ("above:100", Above(100)),
        ("  top:15 ", Top(15)),
    ],
)
def test_texts_and_what_they_mean(text: str, expected: Disclosure) -> None:
    assert parse_disclosure(text) == expected


@pytest.mark.parametrize("text", PAPER_CONFIGURATIONS)
def test_every_configuration_of_the_paper_reads_back_as_it_is_written(text: str) -> None:
    disclosure = parse_disclosure(text)
    assert disclosure.text == str(disclosure) == text


def test_the_paper_has_fourteen_configurations() -> None:
    assert len(set(PAPER_CONFIGURATIONS)) == 14


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("median", "'median' is not a disclosure; use sealed, top:15"),
        ("", "'' is not a disclosure"),
        ("Top:15", "'Top:15' is not a disclosure"),
        ("order:3", "order takes no number; write 'order' instead of 'order:3'"),
        ("none:", "none takes no number"),
        ("top", "'top' needs a whole number after 'top:'"),
        ("top:", "'top:' needs a whole number"),
        ("top:-3", "'top:-3' needs a whole number"),
        ("top:1.5", "'top:1.5' needs a whole number"),
        ("top:1e3", "needs a whole number"),
        ("top:²", "needs a whole number"),
        ("top:٣", "needs a whole number"),
        ("top:1234567890", "needs a whole number"),
        ("top:0", "top:0 names no group at all"),
        ("quantiles:0", "quantiles:0 names no group at all"),
        ("buckets:0", "buckets:0 names no group at all"),
        ("above:101", "above:101 is not a percentage; use above:0 to above:100"),
        ("above:70%", "needs a whole number"),
        ("top:3:4", "needs a whole number"),
    ],
)
def test_what_is_no_disclosure_is_refused_with_a_remedy(text: str, message: str) -> None:
    with pytest.raises(DisclosureError) as refused:
        parse_disclosure(text)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=15))
def test_any_text_is_either_read_or_refused(text: str) -> None:
    try:
        disclosure = parse_disclosure(text)
    except InputError:
        return
    assert parse_disclosure(disclosure.text) == disclosure


@pytest.mark.parametrize("mode", ["value", "improvement", "nothing"])
def test_best_modes_have_names(mode: str) -> None:
    assert parse_best_mode(mode).value == mode


def test_other_best_modes_are_refused() -> None:
    with pytest.raises(DisclosureError, match="use value, improvement or nothing"):
        parse_best_mode("all")


@pytest.mark.parametrize(
    ("mode", "best_so_far", "revealed"),
    [
        ("value", None, 7),
        ("value", 9, 7),
        ("improvement", None, True),
        ("improvement", 6, True),
        ("improvement", 7, False),
        ("improvement", 8, False),
        ("nothing", None, None),
        ("nothing", 6, None),
    ],
)
def test_what_is_disclosed_of_a_best_fitness_of_seven(
    mode: str, best_so_far: int | None, revealed: int | bool | None
) -> None:
    disclosed = BestMode(mode).revealed(7, best_so_far=best_so_far)
    assert disclosed == revealed
    assert type(disclosed) is type(revealed)
