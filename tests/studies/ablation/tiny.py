"""An ablation that takes seconds."""

TINY = """
name = "tiny"
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
