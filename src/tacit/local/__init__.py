"""Nodes on this machine, as processes of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.local.cluster import LocalCluster, free_addresses, memory_folder
    from tacit.local.engine import (
        EngineRules,
        node_terms,
        offered_node_terms,
        open_engine,
        platform_certificate,
    )
    from tacit.local.node_processes import NodeProcess, shared_fork_server
else:
    __getattr__ = lazily(__name__)
