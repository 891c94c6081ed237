"""Three nodes find and prove a plan by themselves. Run: python nothing_but_the_plan.py."""

import tacit

problem = tacit.generate_assignment(7, rows=30, participants=3)

# Nothing of any candidate is disclosed, so there is no history to look at, only a plan. The number
# of steps is public and fixed beforehand; the deadline is the latest time.
result = tacit.solve(problem, disclose="sealed", deadline="20s")

print(f"{result.generations} steps, of which nobody knows what they did")
print("proved to be the optimum" if result.proved else "not proved to be the optimum")
print("plan:", result.plan)
# Only because the weights are all here, on one machine:
print(f"{result.percent_of_optimum:.1f} % of the optimum")
