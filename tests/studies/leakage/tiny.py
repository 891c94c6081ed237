"""A leakage study that takes seconds."""

TINY = """
name = "tiny"
evaluations = [5, 12]
disclosures = ["order", "top:5"]
sealed_generations = 40
[[classes]]
label = "assignment"
every_attack = ["top:5"]
preset = "paper-ap"
parameters = { population = 30, elites = 3 }
worst_cases = 2
instances = [{ generate = "assignment", size = 7, seed = 1, numbers = [1, 2] }]
[mitigations]
disclosures = ["top:5"]
seeds = 2
[[mitigations.options]]
name = "best value withheld"
best = "nothing"
"""
