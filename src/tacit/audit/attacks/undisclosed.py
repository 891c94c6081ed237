"""Attacks that need nothing disclosed: the published plan alone, and surviving genes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tacit.audit.record.view import Cells, View


def by_published_plans(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
    """The baseline: the value of a cell is the number of published plans that use it."""
    cells = np.zeros(view.cell_count)
    np.add.at(cells, view.published, 1.0)
    return cells


def by_frequency(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
    """Estimate the cells from the candidates alone."""
    return gene_frequency(view)


def gene_frequency(view: View, /) -> Cells:
    """How often each gene occurs, standardized to mean 0 and spread 1: valuable ones survive.

    The logarithm keeps the few genes that took over the population from dominating the others.
    """
    cells = np.log1p(np.bincount(view.cells.ravel(), minlength=view.cell_count))
    return np.asarray((cells - cells.mean()) / (float(cells.std()) or 1.0))
