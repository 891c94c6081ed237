"""A node: holds shares and computes what agreements allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.engine.node.kept_agreements import agreements_naming
    from tacit.engine.node.operator_log import log_as_json_lines
    from tacit.engine.node.process import run_node
else:
    __getattr__ = lazily(__name__)
