"""The obfuscation methods and the fitness estimation, in the clear.

This is the specification: the secure versions pass the same tests. Pure functions on arrays.
"""

from tacit.disclosure.above import Above as Above
from tacit.disclosure.best import BestMode as BestMode, parse_best_mode as parse_best_mode
from tacit.disclosure.buckets import Buckets as Buckets
from tacit.disclosure.estimation import (
    Estimator as Estimator,
    estimate as estimate,
    estimator_named as estimator_named,
    exponential as exponential,
    linear as linear,
)
from tacit.disclosure.exact import Exact as Exact
from tacit.disclosure.method import Disclosure as Disclosure, ranks as ranks
from tacit.disclosure.order import Order as Order
from tacit.disclosure.parse import (
    PAPER_CONFIGURATIONS as PAPER_CONFIGURATIONS,
    parse_disclosure as parse_disclosure,
    register_disclosure as register_disclosure,
    split_disclosure as split_disclosure,
)
from tacit.disclosure.quantiles import Quantiles as Quantiles
from tacit.disclosure.sealed import SEALED as SEALED, Sealed as Sealed
from tacit.disclosure.top import Top as Top
