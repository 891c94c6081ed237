"""Compiling hot loops with Numba where it is installed, and leaving them as they are elsewhere.

A kernel is an ordinary function on arrays with the same result compiled or not: it takes its
random words as an argument, uses no global, and sorts stably.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., object])


@cache
def numba_is_here() -> bool:
    """Whether kernels are compiled.

    >>> isinstance(numba_is_here(), bool)
    True
    """
    return find_spec("numba") is not None


def kernel(function: Function, /) -> Function:
    """Compile a function at its first call and keep the machine code on disk.

    >>> @kernel
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double(21)
    42
    """
    if not numba_is_here():
        return function
    from numba import njit

    return cast(Function, njit(cache=_has_a_file(function))(function))


def _has_a_file(function: Callable[..., object]) -> bool:
    """Code typed at a prompt or in a docstring has no file to keep a cache beside."""
    return not function.__code__.co_filename.startswith("<")
