"""Whatever stands in a file, loading it gives a problem or one clear line; never a traceback."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import FileError
from tacit.problems import generate_assignment, generate_tour, load_problem
from tacit.problems.files.load_and_save import problem_text


def npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([[1.5, 2], [3, 4]]))
    return buffer.getvalue()


GOOD = {
    ".csv": b"id,a,b\nF1,1.5,2\nF2,3,4\n",
    ".npy": npy(),
    ".json": problem_text(generate_assignment(1, rows=2, participants=2)).encode(),
    ".tsp": b"DIMENSION: 3\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n3 5 6\nEOF\n",
    ".atsp": b"DIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\n"
    b"EDGE_WEIGHT_SECTION\n0 1\n2 0\n",
    ".JSON": problem_text(generate_tour(1, cities=3)).encode(),
}

WORDS = b"-1 nan 1e999999999 1e9999999999 1e-400 null [] {} true 1.5 _SECTION : ; , \xff \0"
SHARDS = st.binary(max_size=4) | st.sampled_from([*WORDS.split(), b"9" * 30, b'"', b"\n", b"\t"])


@pytest.mark.parametrize("suffix", GOOD)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), SHARDS), max_size=3))
def test_damaged_files(
    tmp_path_factory: pytest.TempPathFactory,
    suffix: str,
    damage: list[tuple[float, int, bytes]],
) -> None:
    content = bytearray(GOOD[suffix])
    for where, length, shard in damage:
        start = int(where * len(content))
        content[start : start + length] = shard
    path = tmp_path_factory.mktemp("broken") / f"p{suffix}"
    path.write_bytes(content)
    told = None
    try:
        load_problem(path)
    except FileError as error:
        told = str(error)
    assert told is None or told.startswith(str(path))
    assert told is None or len(told.splitlines()) == 1
