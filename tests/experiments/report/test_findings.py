"""Each finding is checked on the paper's own tables first: there it must hold."""

from __future__ import annotations

import pytest

from tacit.experiments.paper import COLUMNS
from tacit.experiments.report.agreement import all_findings
from tacit.experiments.report.column_figures import published_figures
from tacit.experiments.report.evidence import Evidence, Finding

FINDINGS = all_findings()
PUBLISHED = Evidence({name: published_figures(column) for name, column in COLUMNS.items()})


def test_every_section_has_findings_and_their_names_differ() -> None:
    assert {finding.section for finding in FINDINGS} == {"5.1", "5.2", "5.3", "5.4"}
    assert len({finding.name for finding in FINDINGS}) == len(FINDINGS)


@pytest.mark.parametrize(
    "finding", [f for f in FINDINGS if not f.needs_runs], ids=lambda finding: finding.name
)
def test_findings_hold_on_the_papers_tables(finding: Finding) -> None:
    holds, told = finding.check(PUBLISHED)
    assert holds, told
