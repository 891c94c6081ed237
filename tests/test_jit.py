"""Kernels are compiled where Numba is installed and left alone elsewhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tacit.jit import kernel, numba_is_here
from tacit.search.selection import _sweep


def plain(x: int) -> int:
    return 2 * x


def test_a_kernel_gives_what_the_function_gives() -> None:
    assert kernel(plain)(21) == plain(21) == 42


def test_kernels_are_compiled_where_numba_is_installed() -> None:
    assert numba_is_here()


@pytest.mark.processes
def test_without_numba_a_kernel_is_the_function_itself() -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from tacit.jit import kernel, numba_is_here\n"
        "def f(): pass\n"
        "print(kernel(f) is f, numba_is_here())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240
    )
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.skipif(not numba_is_here(), reason="nothing is compiled without Numba")
def test_other_threads_go_on_while_a_kernel_runs() -> None:
    """A node follows searches in threads; one that is large must not keep everybody waiting."""

    compiled = _sweep.compiled()  # type: ignore[attr-defined]
    assert compiled.targetoptions["nogil"]
