"""What all have agreed on, and the search that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import Agreement

LEDGER = "ledger.jsonl"


@dataclass(frozen=True, kw_only=True)
class Agreed:
    """An agreement with its signatures and the manifests of what was sealed under it."""

    agreement: Agreement
    signatures: Mapping[str, bytes]
    manifests: Mapping[int, Sequence[bytes]]
    """Per objective, in the agreement's order of owners."""
    public: Mapping[int, NDArray[np.int64]] = field(default_factory=dict)
    """The weights of public objectives."""
