"""A front between an open and a secret objective. Run: python two_objectives.py."""

import dataclasses

import tacit

problem = tacit.generate_assignment(7, rows=40, objectives=2)
secret, known = problem.objectives
problem = dataclasses.replace(
    problem, objectives=(secret, dataclasses.replace(known, confidential=False))
)
result = tacit.solve(problem, disclose="order", limits=tacit.Limits(generations=150), seed=1)

for values in sorted(result.estimated_best.actual or [])[::10]:
    print(values)
