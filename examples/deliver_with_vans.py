"""Three vans from one depot; nobody shows what its roads cost. Run: python deliver_with_vans.py."""

import tacit
from tacit.problems import generate_routing

# Two carriers own the costs of the ways that leave their places. Who wants how much is public.
problem = generate_routing(5, places=13, vehicles=3, participants=2)
result = tacit.solve(problem, disclose="quantiles:20", limits=tacit.Limits(generations=80), seed=1)

routes: dict[int, list[int]] = {}
for van, customer in problem.listed(result.plan):
    routes.setdefault(van, []).append(customer)
for van, customers in routes.items():
    load = sum(problem.demands[customer] for customer in customers)
    print(f"van {van}: {customers}, {load} of {problem.capacities[van]}")
print("length", result.value)
