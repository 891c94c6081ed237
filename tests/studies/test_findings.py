"""Each finding is checked on the paper's own tables first: there it must hold."""

from __future__ import annotations

import pytest
from studies.report.agreement import (
    Assessed,
    all_findings,
    by_later_rule,
    by_original_rule,
)
from studies.report.findings import Evidence, Finding
from studies.report.results import COLUMNS, published_figures

FINDINGS = all_findings()
PUBLISHED = Evidence({name: published_figures(column) for name, column in COLUMNS.items()})


def test_every_section_has_findings_and_their_names_differ() -> None:
    assert {finding.section for finding in FINDINGS} == {"5.1", "5.2", "5.3", "5.4"}
    assert len({finding.name for finding in FINDINGS}) == len(FINDINGS)


def test_under_the_original_rules_a_finding_counts_unsplit() -> None:
    assert sum(not finding.part_of for finding in FINDINGS) == 47
    parts = [finding for finding in FINDINGS if finding.part_of]
    assert {part.part_of for part in parts} == {"moap-two: finer covers more"}
    assert len(parts) == 2


def test_each_rule_counts_its_own_findings() -> None:
    whole = next(each for each in FINDINGS if each.name == "moap-two: finer covers more")
    parts = [each for each in FINDINGS if each.part_of == whole.name]
    # On two of five instances, so not on half of them; on all runs together one part fails.
    assessed = [
        Assessed(whole, 2, 2, 5, "", False, ""),
        Assessed(parts[0], 5, 5, 5, "", True, ""),
        Assessed(parts[1], 2, 2, 5, "", False, ""),
    ]
    assert by_original_rule(assessed) == {whole.name: False}
    assert by_later_rule(assessed) == {parts[0].name: True, parts[1].name: False}
    assert Assessed(whole, 1, 0, 2, "", False, "").holds
    assert not Assessed(whole, 1, 0, 2, "", False, "").holds_after_holm


@pytest.mark.parametrize(
    "finding", [f for f in FINDINGS if not f.needs_runs], ids=lambda finding: finding.name
)
def test_findings_hold_on_the_papers_tables(finding: Finding) -> None:
    holds, told = finding.check(PUBLISHED)
    assert holds, told
