"""Ask and tell by hand, with an evaluation of your own. Run: python your_own_loop.py."""

import numpy as np

from tacit.problems import generate_assignment
from tacit.search import Evolution, SearchParameters

problem = generate_assignment(3, rows=25)
search = Evolution(problem, SearchParameters(population=60, elites=4, tournament=6))
rng = np.random.Generator(np.random.PCG64(1))

state = search.start()
for _ in range(100):
    genomes = search.ask(state, rng)
    fitness = problem.fitness(0, problem.plans(genomes))
    state = search.tell(state, genomes, fitness[:, None].astype(float), rng)

print(f"generation {state.generation}: {state.estimates[0, 0]:g}")
