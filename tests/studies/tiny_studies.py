"""Studies that take seconds."""

ABLATION = """
name = "crossed"
title = "Tiny"
disclosures = ["none", "top:5"]
seeds = { first = 0, count = 3 }

[[clocks]]
latency_ms = 0
budgets = [0.1, 0.4]
sealed = 1
evaluation = { none = [[10, 0.01], [400, 0.01]], top = [[10, 0.02], [400, 0.02]] }

[[families]]
label = "tour"
genetic = "paper-tsp"
annealing = "sealed-tsp"
limited = { top = { children = 20 } }
instances = [{ shipped = "kroD100" }]
"""

LEAKAGE = """
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
