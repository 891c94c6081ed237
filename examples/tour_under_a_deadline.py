"""A tour through 100 cities in two seconds. Run: python tour_under_a_deadline.py."""

import tacit

result = tacit.solve(
    tacit.shipped_problem("kroD100"), disclose="quantiles:20", deadline="2s", seed=1
)
print(f"{result.generations} generations, length {result.value}")
print(f"{result.percent_of_optimum:.1f} % of the optimum {result.optimum:g}")
