"""Leakage in the report: the shipped tables, and a few runs that are attacked again beside them.

The whole study takes longer than all runs of the paper's evaluation; `tacit experiment leakage`
computes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from studies.leakage.family_tables import families_tables, raw_and_gain
from studies.leakage.run_study import LeakageStudyRun
from studies.leakage.tables import correlation_tables, leakage_table_entries
from studies.report.table import Block, Cell, ReportTable
from tacit.audit import Entry, measured_entries


def leakage_blocks(done: LeakageStudyRun, /) -> list[Block]:
    """The shipped tables, and what was attacked now beside them."""
    shipped = measured_entries()
    return [
        "Measured by attacking recorded runs: the correlation of the matrix that a curious "
        "platform recovers with the secret one, rows and columns centred, by attackers who know "
        "the structure of the costs that is named as the prior. See docs/leakage.md.",
        again_table(leakage_table_entries(done.results), shipped),
        "The tables that follow are those of the whole study as it ships, which `tacit experiment "
        "leakage` computes.",
        *families_tables(shipped),
        *correlation_tables(shipped),
    ]


def again_table(now: Sequence[Entry], shipped: Sequence[Entry], /) -> ReportTable:
    """Each figure that was measured now, and the shipped one."""
    known = {_key(each): each for each in shipped}
    rows = []
    for each in now:
        informed, before = each.prior_alone > 0, known.get(_key(each))
        told = "" if before is None else raw_and_gain(before.honest, before.honest_gain, informed)
        cells = (f"{each.kind} {each.rows} x {each.columns}", each.family, each.prior,
                 each.disclosure, str(each.evaluations),
                 raw_and_gain(each.honest, each.honest_gain, informed), told)  # fmt: skip
        rows.append(tuple(map(Cell, cells)))
    return ReportTable(
        "table-leakage-again",
        "Attacked again: one short run of each family of costs",
        ("problem", "costs", "prior", "disclosure", "evaluations", "now", "shipped"),
        tuple(rows),
        "Correlation, and in brackets the gain beyond a prior that tells something. The shipped "
        "figures are medians over instances; this is the first of them.",
    )


def _key(entry: Entry) -> tuple[object, ...]:
    return (entry.kind, entry.family, entry.prior, entry.rows, entry.population,
            entry.disclosure, entry.evaluations)  # fmt: skip
