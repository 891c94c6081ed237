"""Problems for pymoo's algorithms whose evaluation happens on nodes, under a disclosure.

Needs `pip install 'tacit[pymoo]'`. `DisclosedProblem` is a pymoo `Problem`, `ComparedTogether` the
pymoo `Evaluator` that goes with it, `FeasiblePlans` a pymoo `Repair` for problems with forbidden
pairs. An algorithm sees estimates made from what is disclosed, never a value that is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.core.problem import Problem as PymooProblem
from pymoo.core.repair import Repair

from tacit.errors import ParameterError
from tacit.problems import Evaluation
from tacit.runs import Asking
from tacit.search import draw_words, repair


class DisclosedProblem(PymooProblem):  # type: ignore[misc]
    """A problem of permutations, evaluated by whatever `open_evaluations` opened.

    `F` is minus the estimate of each objective, since pymoo minimizes: a number to compare
    candidates of one set by, and the value of a plan only where the disclosure tells values.

    >>> from tacit.problems import generate_assignment
    >>> from tacit.runs import open_evaluations
    >>> problem = generate_assignment(1, rows=3)
    >>> with open_evaluations(problem, disclose="order", best="nothing", sets=1, largest=9) as one:
    ...     DisclosedProblem(one).evaluate(np.array([[0, 1, 2], [2, 1, 0]]))
    array([[1.],
           [0.]])
    """

    def __init__(self, asking: Asking, /) -> None:
        self.asking = asking
        self.last: Evaluation | None = None
        """What was disclosed of the set that was evaluated last."""
        length = asking.problem.genome_length
        super().__init__(
            n_var=length, n_obj=len(asking.problem.objectives), xl=0, xu=length - 1, vtype=int
        )

    def plans(self, genomes: NDArray[Any], /) -> NDArray[np.int32]:
        """The plans that permutations stand for, such as `X` of a pymoo result."""
        return self.asking.problem.plans(np.atleast_2d(genomes).astype(np.int32))

    def _evaluate(self, X: NDArray[Any], out: dict[str, Any], *_: object, **__: object) -> None:
        self.last = self.asking.evaluate(self.plans(X))
        out["F"] = 0.0 - self.last.estimates

    def __deepcopy__(self, memo: dict[int, object]) -> DisclosedProblem:
        """Algorithms are copied by pymoo; nodes are not copied with them."""
        return self


class ComparedTogether(Evaluator):  # type: ignore[misc]
    """Evaluates parents and offspring in one set, so that what survives is chosen by comparison.

    What a disclosure tells of two sets does not compare, and pymoo's algorithms keep the `F` of
    parents. Under `none`, where values are told, pymoo's own `Evaluator` does as well and asks for
    half as many.
    """

    def _eval(
        self, problem: DisclosedProblem, pop: Population, evaluate_values_of: list[str],
        **kwargs: Any,  # noqa: ANN401 - pymoo's
    ) -> None:  # fmt: skip
        parents = getattr(kwargs.get("algorithm"), "pop", None)
        both = pop if parents is None else Population.merge(parents, pop)
        super()._eval(problem, both, evaluate_values_of, **kwargs)


class FeasiblePlans(Repair):  # type: ignore[misc]
    """Makes permutations respect the forbidden pairs, which are public."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._words = np.random.Generator(np.random.PCG64(seed))

    def _do(self, problem: PymooProblem, X: NDArray[Any], **_: object) -> NDArray[np.int32]:
        if not isinstance(problem, DisclosedProblem):
            raise ParameterError("FeasiblePlans repairs a DisclosedProblem; give it one")
        genomes = np.ascontiguousarray(X, dtype=np.int32)
        allowed = problem.asking.problem.allowed
        if allowed is not None:
            repair(genomes, allowed, draw_words(self._words, len(genomes)))
        return genomes
