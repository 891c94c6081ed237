"""The obfuscation methods and the fitness estimation, in the clear.

This is the specification: the secure versions pass the same tests. Pure functions on arrays.
"""

from tacit.disclosure.estimation import Estimator, estimate, estimator_named, exponential, linear
from tacit.disclosure.leakage import Leakage, inequations_between, leakage
from tacit.disclosure.methods import (
    PARETO,
    SEALED,
    Above,
    BestMode,
    Buckets,
    Disclosure,
    Exact,
    Order,
    Pareto,
    Quantiles,
    Sealed,
    Top,
    Unsaid,
    parse_best_mode,
    ranks,
)
from tacit.disclosure.pareto_score import check_score_fits, nondominated, pareto_score
from tacit.disclosure.parse import (
    PAPER_CONFIGURATIONS,
    parse_disclosure,
    register_disclosure,
    split_disclosure,
)
from tacit.disclosure.sentences import (
    BEST,
    DISCLOSURES,
    DisclosureWords,
    checkpoint_words,
    gap_words,
    opened_words,
    revealed_words,
)
