"""The platform's side of the engine: asks the nodes and puts their answers together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.coordinator.coordinator import Coordinator
    from tacit.coordinator.node_client import (
        NodeClient,
        NodeOffer,
        ask_for_sealing_keys,
        clients_of,
        end_at_nodes,
        head_of_series,
    )
    from tacit.coordinator.secure import SecureEngine, SecureObjective
else:
    __getattr__ = lazily(__name__)
