"""Compiling hot loops with Numba where it is installed, and leaving them as they are elsewhere.

A kernel is an ordinary function on arrays with the same result compiled or not: it takes its
random words as an argument, uses no global, and sorts stably.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, update_wrapper
from importlib.util import find_spec
from typing import TypeVar, cast

FEW_CALLS = 64
"""Plans that are evaluated in less time than the half second of that import."""

Function = TypeVar("Function", bound=Callable[..., object])


@cache
def numba_is_here() -> bool:
    """Whether kernels are compiled."""
    return find_spec("numba") is not None


def compiling_pays(calls: int, /) -> bool:
    """Whether kernels are compiled, and so much work is worth what Numba takes to import.

    The answer changes how long something takes and nothing else.
    """
    return numba_is_here() and (calls > FEW_CALLS or "numba" in sys.modules)


def kernel(function: Function, /) -> Function:
    """Compile a function at its first call and keep the machine code on disk.

    >>> @kernel
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double(21)
    42
    """
    return cast(Function, _Kernel(function)) if numba_is_here() else function


class _Kernel:
    """A function to be compiled; Numba takes long to import, and not everybody searches."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._compiled: Callable[..., object] | None = None
        update_wrapper(self, function)

    def __call__(self, *arguments: object) -> object:
        return self.compiled()(*arguments)

    def compiled(self) -> Callable[..., object]:
        """The machine code; kernels that this one calls are compiled first."""
        if self._compiled is None:
            from numba import njit

            around = self._function.__globals__
            for name in self._function.__code__.co_names:
                used = around.get(name)
                if isinstance(used, _Kernel):
                    around[name] = used.compiled()  # compiled code calls nothing else
            # Other threads go on meanwhile: a node answers everybody while it follows a search.
            compile_it = njit(cache=_has_a_file(self._function), nogil=True)
            self._compiled = cast(Callable[..., object], compile_it(self._function))
        return self._compiled

    def __reduce__(self) -> str:
        return self._function.__qualname__


def _has_a_file(function: Callable[..., object]) -> bool:
    """Code typed at a prompt or in a docstring has no file to keep a cache beside."""
    return not function.__code__.co_filename.startswith("<")
