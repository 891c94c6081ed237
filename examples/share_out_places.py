"""Pupils and workshops of limited size; wishes stay secret. Run: python share_out_places.py."""

import numpy as np

import tacit
from tacit.problems import CapacitatedAssignment, Objective, Participant

PUPILS = tuple(f"{school}-{number}" for school in ("East", "West") for number in range(1, 7))
WORKSHOPS = ("robots", "theatre", "chess", "pottery")

# How much each pupil wants each workshop; only the pupil's school knows.
wishes = np.random.default_rng(3).integers(0, 11, (len(PUPILS), len(WORKSHOPS)))

problem = CapacitatedAssignment(
    name="workshops",
    rows=len(PUPILS),
    columns=len(WORKSHOPS),
    row_names=PUPILS,
    column_names=WORKSHOPS,
    objectives=(Objective("wishes", wishes),),
    participants=(Participant("East", tuple(range(6))), Participant("West", tuple(range(6, 12)))),
    capacities=(4, 5, 2, 3),
)
# Nothing but the plan is ever told; a looser disclosure such as top:15 works as well.
result = tacit.solve(problem, disclose="sealed", deadline="30s")

for pupil, workshop in result.named_plan or []:
    print(pupil, workshop)
print(f"wishes fulfilled: {result.value}, best possible {result.optimum:g}")
