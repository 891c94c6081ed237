"""A node: holds shares and computes what agreements allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.node.kept_agreements import agreements_naming
    from tacit.node.operator_log import log_as_json_lines
    from tacit.node.process import run_node
else:
    __getattr__ = lazily(__name__)
