"""The obfuscation methods and the fitness estimation, in the clear.

This is the specification: the secure versions pass the same tests. Pure functions on arrays.
"""

from tacit.disclosure.above import Above
from tacit.disclosure.best import BestMode, parse_best_mode
from tacit.disclosure.buckets import Buckets
from tacit.disclosure.estimation import Estimator, estimate, estimator_named, exponential, linear
from tacit.disclosure.exact import Exact
from tacit.disclosure.leakage import Leakage, inequations_between, leakage
from tacit.disclosure.method import Disclosure, ranks
from tacit.disclosure.order import Order
from tacit.disclosure.pareto import PARETO, Pareto
from tacit.disclosure.pareto_score import check_score_fits, nondominated, pareto_score
from tacit.disclosure.parse import (
    PAPER_CONFIGURATIONS,
    parse_disclosure,
    register_disclosure,
    split_disclosure,
)
from tacit.disclosure.quantiles import Quantiles
from tacit.disclosure.sealed import SEALED, Sealed
from tacit.disclosure.top import Top
from tacit.disclosure.unsaid import Unsaid
