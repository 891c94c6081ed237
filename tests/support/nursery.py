"""The process that the nodes of all tests are forked from: with kernels loaded, too.

Tests of commands start nodes as users do.
"""

from __future__ import annotations

from functools import cache

from tacit.local.node_processes import NODE, ForkServer
from tests.support.repository import ROOT


@cache
def nursery() -> ForkServer:
    """The one of this test process."""
    return ForkServer(NODE, "tests.support.loaded_kernels", folder=ROOT)
