"""The weights of a run's public objectives: in its terms, for everybody who may see the run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = dict[int, NDArray[np.int64]]


def public_weights(terms: dict[str, Any], /) -> Weights:
    """Per public objective of stored terms, its matrix of whole numbers.

    >>> public_weights({"objectives": [{"name": "pay"}, {"name": "way", "weights": [[1, 2]]}]})
    {1: array([[1, 2]])}
    """
    return {
        k: np.array(objective["weights"], dtype=np.int64)
        for k, objective in enumerate(terms["objectives"])
        if objective.get("weights") is not None
    }


def without_weights(terms: dict[str, Any], /) -> dict[str, Any]:
    """Terms as they are shown again and again: large matrices have an address of their own."""
    if not any(objective.get("weights") for objective in terms["objectives"]):
        return terms
    return {
        **terms,
        "objectives": [{**each, "weights": None} for each in terms["objectives"]],
    }
