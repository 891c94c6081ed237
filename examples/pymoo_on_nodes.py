"""Let pymoo search while nodes evaluate. Needs tacit[pymoo]. Run: python pymoo_on_nodes.py."""

from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.operators.crossover.ox import OrderCrossover
from pymoo.operators.mutation.inversion import InversionMutation
from pymoo.operators.sampling.rnd import PermutationRandomSampling
from pymoo.optimize import minimize

from tacit.problems import generate_assignment
from tacit.pymoo import ComparedTogether, DisclosedProblem
from tacit.runs import EngineChoice, open_evaluations

GENERATIONS, POPULATION = 12, 30
problem = generate_assignment(3, rows=12, participants=3)
search = GA(
    pop_size=POPULATION,
    sampling=PermutationRandomSampling(),
    crossover=OrderCrossover(),
    mutation=InversionMutation(),
    evaluator=ComparedTogether(),  # ranks of two sets do not compare
)
if __name__ == "__main__":
    with open_evaluations(
        problem,
        disclose="order",
        best="nothing",
        sets=GENERATIONS,
        largest=2 * POPULATION,
        choice=EngineChoice(),  # three nodes on this machine
    ) as asking:
        disclosed = DisclosedProblem(asking)
        found = minimize(disclosed, search, ("n_gen", GENERATIONS), seed=1)
        plan = disclosed.plans(found.X)[0]
    print(f"plan {plan.tolist()} after {asking.asked} sets; pymoo saw ranks alone, no value")
