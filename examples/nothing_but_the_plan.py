"""Three nodes search by themselves and open one plan. Run: python nothing_but_the_plan.py."""

import tacit

problem = tacit.generate_assignment(7, rows=30, participants=3)

# Nobody is told anything of any candidate, so there is no history to look at, only a plan.
result = tacit.solve(problem, disclose="sealed", deadline="2s")

print(f"{result.generations} generations, of which nobody knows what they did")
print("plan:", result.plan)
# Only because the weights are all here, on one machine:
print(f"{result.percent_of_optimum:.1f} % of the optimum")
