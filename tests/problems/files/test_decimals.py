"""Decimals become whole numbers exactly or not at all."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.problems.files.decimals import (
    CellError,
    is_number,
    parse_decimal,
    scale_needed,
    scaled,
    unscaled_text,
)

LIMIT = 2**48 - 1
SCALES = st.integers(0, 6).map(lambda power: 10**power)


@given(st.integers(0, 10**12), SCALES)
def test_what_is_written_is_read_back(value: int, scale: int) -> None:
    text = unscaled_text(value, scale)
    assert is_number(text)
    assert scaled(parse_decimal(text), scale, limit=LIMIT * 10**6) == value


@given(st.decimals(0, 10**6, allow_nan=False, places=8), SCALES)
def test_nothing_is_ever_rounded(number: Any, scale: int) -> None:
    exact = Fraction(number) * scale
    if exact.denominator == 1:
        assert scaled(number, scale, limit=LIMIT) == exact
    else:
        with pytest.raises(CellError, match="more decimals than scale"):
            scaled(number, scale, limit=LIMIT)


@given(st.lists(st.decimals(0, 1000, allow_nan=False, places=4), min_size=1))
def test_the_scale_needed_is_the_smallest_that_keeps_all(numbers: Any) -> None:
    scale = scale_needed(numbers)
    assert all((Fraction(number) * scale).denominator == 1 for number in numbers)
    if scale > 1:
        assert any((Fraction(number) * scale / 10).denominator > 1 for number in numbers)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the cell is empty; fill in a number, and forbid pairs with a mask"),
        ("NaN", "NaN is not a finite number; fill in a number"),
        ("-inf", "-inf is not a finite number; fill in a number"),
        ("1,5", "'1,5' is not a number; write decimals with a point, as in 1.5"),
        ("a" * 90, f"'{'a' * 37}...' is not a number; fill in a number"),
        ("١", "'١' is not a number; fill in a number"),
        ("1e9999999999", "'1e9999999999' is not a number; fill in a number"),
        ("1_000", "'1_000' is not a number; fill in a number"),
    ],
)
def test_what_is_no_number(text: str, message: str) -> None:
    with pytest.raises(CellError) as caught:
        parse_decimal(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-1", "-1 is negative; shift all weights so that the least is 0"),
        ("0.125", "0.125 has more decimals than scale 10 keeps; use scale 1000 or round it"),
        ("1e-9", "1E-9 has more decimals than scale 10 keeps; round it"),
        ("1e-999999999", "1E-999999999 has more decimals than scale 10 keeps; round it"),
        ("1." + "0" * 70 + "1", "more decimals than scale 10 keeps; round it"),
        ("1e999999999", "1E+999999999 times scale 10 is above the largest weight, 50"),
        ("6", "6 times scale 10 is above the largest weight, 50; use a smaller scale"),
    ],
)
def test_what_is_no_weight(text: str, message: str) -> None:
    with pytest.raises(CellError) as caught:
        scaled(parse_decimal(text), 10, limit=50)
    assert message in str(caught.value)


def test_numbers_in_any_notation() -> None:
    texts = ["1e3", "+12.50", ".5", "7.", "0e999999", "00012"]
    assert [scaled(Decimal(text), 10, limit=10**6) for text in texts] == [
        10000, 125, 5, 70, 0, 120,
    ]  # fmt: skip
