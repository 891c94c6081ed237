"""Table 1: what our disclosures make of the paper's example of eleven solutions."""

from __future__ import annotations

import numpy as np

from studies.paper import published
from studies.report.table import Cell, ReportTable
from tacit.disclosure import parse_disclosure


def example_table() -> ReportTable:
    """Table 1, computed by our disclosures; cells that differ from the paper's are highlighted.

    >>> [cell.text for cell in example_table().rows[3]]
    ['70', '3', '1', '0', 'true', 'true', '40', '0', '100', '100', '100']
    """
    given = published()["example"]
    fitness = np.array(given["fitness"], dtype=np.int64)
    obfuscated, estimated = {}, {}
    for text in given["obfuscated"]:
        disclosure = parse_disclosure(text)
        disclosed = disclosure.disclose(fitness)
        obfuscated[text] = disclosed.tolist()
        estimated[text] = disclosure.estimates(disclosed, best=int(fitness.max())).tolist()
    rows = []
    for place, value in enumerate(given["fitness"]):
        cells = [Cell(f"{value}")]
        for ours, theirs in ((obfuscated, given["obfuscated"]), (estimated, given["estimated"])):
            for text, column in ours.items():
                cells.append(_beside(column[place], theirs[text][place]))
        rows.append(tuple(cells))
    compared = [cell for row in rows for cell in row[1:]]
    agreeing = sum(not cell.marked for cell in compared)
    return ReportTable(
        "table-01",
        "Table 1: what our disclosures make of the paper's example",
        ("fitness", *obfuscated, *(f"estimated, {text}" for text in estimated)),
        tuple(rows),
        f"{agreeing} of {len(compared)} cells are the paper's; any other stands first, with the "
        "paper's in brackets.",
    )


def _beside(ours: float, theirs: float) -> Cell:
    if ours == theirs:
        return Cell(_shown(ours))
    return Cell(f"{_shown(ours)} ({_shown(theirs)})", marked=True)


def _shown(value: float) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"
