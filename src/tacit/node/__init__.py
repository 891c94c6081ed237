"""A node: holds shares and computes what agreements allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.node.limits import rooms_on_disk
    from tacit.node.own_log import log_as_json_lines
    from tacit.node.process import run_node
    from tacit.node.status import node_status
    from tacit.node.store import agreements_naming
else:
    __getattr__ = lazily(__name__)
