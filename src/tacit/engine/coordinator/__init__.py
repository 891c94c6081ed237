"""The platform's side of the engine: asks the nodes and puts their answers together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.engine.coordinator.coordinator import Coordinator
    from tacit.engine.coordinator.node_client import NodeClient, clients_of
    from tacit.engine.coordinator.sealing_offers import (
        NodeOffer,
        ask_for_sealing_keys,
        head_of_series,
    )
    from tacit.engine.coordinator.secure import SecureEngine
    from tacit.engine.coordinator.secure_objective import SecureObjective
else:
    __getattr__ = lazily(__name__)
