"""Three airlines share ten slots; nobody shows what a delay costs. Run: python assign_slots.py."""

import numpy as np

import tacit
from tacit.problems import Assignment, Objective, Participant

FLIGHTS = ("AA1", "AA2", "AA3", "BB1", "BB2", "BB3", "CC1", "CC2")
SLOTS = tuple(f"08:{minute:02d}" for minute in range(0, 50, 5))

# What each minute of delay costs a flight, and the slot it was scheduled for.
per_slot = np.array([40, 12, 25, 60, 8, 30, 22, 15])
scheduled = np.array([0, 0, 1, 1, 2, 3, 3, 4])
delay = np.maximum(np.arange(len(SLOTS)) - scheduled[:, None], 0)
costs = per_slot[:, None] * delay**2

problem = Assignment(
    name="morning",
    rows=len(FLIGHTS),
    columns=len(SLOTS),
    row_names=FLIGHTS,
    column_names=SLOTS,
    objectives=(Objective("delay cost", costs, sense="minimize"),),
    participants=(
        Participant("A", (0, 1, 2)),
        Participant("B", (3, 4, 5)),
        Participant("C", (6, 7)),
    ),
    # Nobody leaves before schedule; that much is public.
    forbidden=np.arange(len(SLOTS)) < scheduled[:, None],
)
result = tacit.solve(problem, disclose="sealed", deadline="30s")

for flight, slot in result.named_plan or []:
    print(flight, slot)
print(f"cost {result.value}, best possible {result.optimum:g}")
