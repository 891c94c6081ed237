"""A start for problems of which few pairs are allowed: a plan grown on those alone, in shares.

::

    prices     the least cost of each column, then what is left of each row's
    sweeps     paths from all free rows at once, a number of steps; each takes a free column
    choice     the public plan that was known before, where that is cheaper or a row is still free

Nearly all moves of a search lead to forbidden pairs there, so it hardly moves; this takes its place
(docs/protocols/grown-start.md). Nobody learns anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.mpc.sealed.grown.cells import AllowedCells
    from tacit.mpc.sealed.grown.clear import grown_in_the_clear
    from tacit.mpc.sealed.grown.start import cost_of_growing, grown_start
else:
    __getattr__ = lazily(__name__)
