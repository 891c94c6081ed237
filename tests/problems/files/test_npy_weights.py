"""NumPy files: integers as they are, floats only where the scale keeps them exactly."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import FileError
from tacit.problems.files.matrices import read_mask, read_npy_weights


@given(
    st.lists(st.lists(st.integers(0, 10**6), min_size=2, max_size=2), min_size=1, max_size=4),
    st.sampled_from([1, 10, 1000]),
    st.sampled_from([np.float64, np.int64]),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, weights: Any, scale: int, dtype: Any
) -> None:
    path = tmp_path_factory.mktemp("npy") / "w.npy"
    if dtype is np.float64:
        np.save(path, np.array(weights) / scale)
        assert read_npy_weights(path, scale=scale).weights.tolist() == weights
    else:
        np.save(path, np.array(weights))
        assert read_npy_weights(path).weights.tolist() == weights


def test_float32_and_small_integers(tmp_path: Path) -> None:
    path = tmp_path / "w.npy"
    np.save(path, np.array([[0.1, 2.5]], dtype=np.float32))
    table = read_npy_weights(path)
    assert (table.weights.tolist(), table.scale) == ([[1, 25]], 10)
    np.save(path, np.array([[200, 7]], dtype=np.uint8))
    assert read_npy_weights(path, scale=100).weights.tolist() == [[20000, 700]]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[1.0, np.nan]]), "[0, 1] (counted from 0): nan is not a finite number"),
        (np.array([[1.0, np.inf]]), "[0, 1] (counted from 0): inf is not a finite number"),
        (np.array([[1, 2], [-3, 4]]), "[1, 0] (counted from 0): -3 is negative"),
        (np.array([[1, 2**60]]), "is above the largest weight"),
        (np.array([[1, 2**63]], dtype=np.uint64), "is above the largest weight"),
        (np.array([[1.0, 1e300]]), "is above the largest weight"),
        (np.array([[1.0, 1 / 3]]), "has more decimals than scale 1000000 keeps; round it"),
        (np.array([1, 2]), "its shape is 2; save a matrix of rows and columns"),
        (np.array(3), "its shape is a single number"),
        (np.zeros((0, 3)), "its shape is 0 x 3"),
        (np.array([["a"]]), "not numbers; save integers or floats"),
        (np.array([[1j]]), "it holds complex128, not numbers"),
    ],
)
def test_bad_arrays(tmp_path: Path, array: Any, message: str) -> None:
    path = tmp_path / "w.npy"
    np.save(path, array)
    with pytest.raises(FileError) as caught:
        read_npy_weights(path)
    assert message in str(caught.value)


def test_a_scale_that_is_too_small_or_too_large(tmp_path: Path) -> None:
    path = tmp_path / "w.npy"
    np.save(path, np.array([[0.25]]))
    with pytest.raises(FileError, match="than scale 10 keeps; use a larger scale or round it"):
        read_npy_weights(path, scale=10)
    with pytest.raises(FileError, match=r"0\.25 times scale 100 is above 20"):
        read_npy_weights(path, scale=100, limit=20)


@pytest.mark.parametrize("content", [b"", b"not an array", b"\x93NUMPY\x01\x00", b"PK\x03\x04"])
def test_files_that_are_no_arrays(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "w.npy"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"this is no .npy array; write it with numpy.save"):
        read_npy_weights(path)


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "w.npy"
    np.save(path, np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match=r"this is no .npy array"):
        read_npy_weights(path)


def test_masks(tmp_path: Path) -> None:
    path = tmp_path / "mask.npy"
    np.save(path, np.array([[True, False]]))
    assert read_mask(path).tolist() == [[True, False]]
    text = tmp_path / "mask.csv"
    text.write_text("0,2\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"\(cell B1\): 2 is above.*1 for a forbidden pair"):
        read_mask(text)
    text.write_text("0,1\n0\n", encoding="utf-8")
    with pytest.raises(FileError, match="give every row the same number of cells"):
        read_mask(text)
