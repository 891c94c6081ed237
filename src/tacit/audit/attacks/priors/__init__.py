"""Attackers that know something before the run begins, one kind of knowledge per file.

Costs are rarely independent: distances come from a map, delay costs follow a schedule. Each prior
has a guess of its own, says what the published plan adds to it, what candidates without values add
(the view of a node), and what the disclosures add.
"""
