"""The schedule is public, and how costs grow with a delay is known roughly.

A row's costs are a curve over its delay. The attacker draws curves as it believes them to be, and
takes their mean and their largest variations: a few unknowns per row. With a hundred drawn
problems of the same schedule it learns what the delay that the plan gives to a row says about its
curve: who is costly to delay gets an early slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.priors.cost_model import Unknowns, fit_model
from tacit.audit.record.view import Cells, View

Matrix = NDArray[np.float64]
SHAPES = 12
"""Variations of the curves that are fitted; the first two usually have nine tenths of it all."""
PLAYED = 100
"""Drawn problems from which the meaning of a plan is learned."""
NEVER = 1e12


@dataclass(frozen=True, eq=False)
class Schedule:
    """Rows have a first column of their own, and costs that follow curves like these."""

    curves: Matrix
    """Drawn costs by delay in columns, from 0, one row each."""
    first: NDArray[np.int64]
    """The first allowed column of each row."""
    name: str = "schedule"
    says: str = "the schedule and how delays usually cost money"

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """The mean curve."""
        return np.asarray(self.curves.mean(axis=0))

    @cached_property
    def unit(self) -> float:
        """The spread of a cost around the mean curve."""
        return float(np.sqrt(self.curves.var(axis=0).mean())) or 1.0

    @cached_property
    def shapes(self) -> Matrix:
        """The largest variations of the curves, one per row, each as large as it is likely."""
        varied = self.curves - self.mean
        _, sizes, axes = np.linalg.svd(varied, full_matrices=False)
        count = min(SHAPES, len(sizes))
        return np.asarray(axes[:count] * (sizes[:count, None] / np.sqrt(len(varied))))

    @cached_property
    def delays(self) -> NDArray[np.int64]:
        """The delay of each cell, negative where it is forbidden."""
        return np.asarray(np.arange(self.curves.shape[1]) - self.first[:, None])

    def _cells(self, amounts: Matrix) -> Cells:
        """The cells of rows whose curves have these amounts of each shape.

        Late is bad, be it as a cost or as a lower value.
        """
        curves = self.mean + amounts @ self.shapes
        at = np.take_along_axis(curves, np.maximum(self.delays, 0), axis=1)
        return -np.where(self.delays < 0, 0.0, at).ravel()

    def guess(self, view: View, /) -> Cells:  # noqa: ARG002
        """The mean curve, put at each row's time."""
        return self._cells(np.zeros((len(self.first), len(self.shapes))))

    def from_plan(self, view: View, /) -> Cells:
        """The curve that rows usually have which get the delay that the plan gives."""
        return self._cells(self.amounts_by_plan(view))

    def amounts_by_plan(self, view: View, /) -> Matrix:
        """How much of each shape rows usually have which get the delay that the plan gives."""
        rows, columns = np.divmod(view.published[: view.problem.rows], view.problem.columns)
        given = np.zeros(len(self.first), dtype=np.int64)
        given[rows] = self.delays[rows, columns]
        return self.amounts_given(given)

    def amounts_given(self, given: NDArray[np.int64], /) -> Matrix:
        """How much of each shape rows usually have which get these delays in an optimal plan."""
        return np.asarray(self.features(given) @ self._learned)

    def from_candidates(self, view: View, /) -> Cells | None:  # noqa: ARG002
        """Nothing beyond the plain attacks."""
        return None

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG002
        """Curves that explain the disclosures."""
        return fit_model(view, CurveModel(self, view))

    def features(self, given: NDArray[np.int64], /) -> Matrix:
        """What is known of each row that gets these delays, one line per row."""
        waiting = np.array([(self.first <= each).sum() - each for each in self.first])
        late, slots = given.astype(np.float64), self.curves.shape[1]
        return np.stack(
            [np.ones(len(given)), late, np.minimum(late, 5), given == 0, self.first / slots,
             waiting / slots, late * self.first / slots, np.sqrt(late), late**2 / slots], axis=1,
        )  # fmt: skip

    @cached_property
    def _learned(self) -> Matrix:
        """From features of a row to amounts of the shapes, by least squares over drawn problems."""
        from scipy.optimize import linear_sum_assignment

        rng = np.random.Generator(np.random.PCG64(0))
        seen, amounts = [], []
        size = np.maximum((self.shapes**2).sum(axis=1), np.finfo(float).tiny)
        for _ in range(PLAYED):
            drawn = self.curves[rng.integers(0, len(self.curves), len(self.first))]
            costs = np.take_along_axis(drawn, np.maximum(self.delays, 0), axis=1)
            rows, columns = linear_sum_assignment(np.where(self.delays < 0, NEVER, costs))
            seen.append(self.features(self.delays[rows, columns]))
            amounts.append((drawn - self.mean) @ self.shapes.T / size)
        return np.asarray(
            np.linalg.lstsq(np.concatenate(seen), np.concatenate(amounts), rcond=None)[0]
        )


@dataclass(frozen=True, eq=False)
class CurveModel:
    """Amounts of each shape as unknowns, normal with variance 1 a priori."""

    schedule: Schedule
    view: View
    stiffness: float = 1.0

    @property
    def unit(self) -> float:
        """The spread of a cost around the mean curve."""
        return self.schedule.unit

    @cached_property
    def _by_cell(self) -> Matrix:
        """What one unit of each shape adds to each cell, in units of cells."""
        schedule = self.schedule
        at = schedule.shapes.T[np.maximum(schedule.delays, 0)]
        allowed = (schedule.delays >= 0)[:, :, None]
        return np.asarray(np.where(allowed, -at / schedule.unit, 0.0))

    def starts(self, view: View, /) -> list[Unknowns]:  # noqa: ARG002
        """What the plan tells."""
        return [np.zeros(len(self.schedule.first) * len(self.schedule.shapes))]

    def cells(self, unknowns: Unknowns, /) -> Cells:
        """The curves at each row's time."""
        amounts = unknowns.reshape(len(self.schedule.first), -1)
        varied = np.einsum("rck,rk->rc", self._by_cell, amounts)
        return np.asarray(self._mean + varied.ravel())

    @cached_property
    def _mean(self) -> Cells:
        return self.schedule.from_plan(self.view) / self.schedule.unit

    def pulled(self, unknowns: Unknowns, by_cell: Cells, /) -> Unknowns:  # noqa: ARG002
        """Linear, so the same everywhere."""
        pull = by_cell.reshape(self.schedule.delays.shape)
        return np.asarray(np.einsum("rck,rc->rk", self._by_cell, pull)).ravel()
