"""A whole report from tiny versions of the paper's studies."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from studies.ablation.study import ablation_from
from studies.evaluation.instances import InstanceSpec
from studies.evaluation.study import SearchStudy, shipped_study
from studies.evaluation.time_budget import PAPER_SECONDS
from studies.leakage.study import leakage_study_from
from studies.report.agreement import all_findings
from studies.report.own_engine import EngineTimes, Timed
from studies.report.reproduction import Evaluation, paper_studies, reproduce
from studies.report.result_tables import example_table
from studies.report.results import COLUMNS
from studies.report.variants import control_of, ties_studies
from studies.study import Seeds
from studies.together import CLAIMED, together_study

from tacit.search import TIES, SearchParameters
from tests.studies.tiny_studies import ABLATION, LEAKAGE

pytestmark = [pytest.mark.slow, pytest.mark.study]

ENGINE = [
    EngineTimes(300, 100, delay, {method: Timed(0.01 + delay / 60) for method in PAPER_SECONDS})
    for delay in (0, 10)
]


def tiny(study: SearchStudy) -> SearchStudy:
    instances = tuple(
        spec
        if spec.shipped
        else InstanceSpec(
            generate="assignment", size=12, objectives=spec.objectives, seed=1, numbers=spec.numbers
        )
        for spec in study.instances[:2]
    )
    assert isinstance(study.search, SearchParameters)
    few = {"population": 60, "elites": min(study.search.elites, 3), **study.parameters}
    return msgspec.structs.replace(
        study, instances=instances, generations=6, seeds=Seeds(0, 3), parameters=few
    )


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small reproduction, made once for all workers of a test run."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    out = shared / "report"
    with (shared / "report.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (out / "summary.json").exists():  # it is written last
            make_report(out)
    return out


def make_report(out: Path) -> None:
    paper = [tiny(study) for study in paper_studies()]
    whole = together_study()
    apart, together = (tiny(study) for study in whole.parts)
    together = msgspec.structs.replace(together, disclosures=CLAIMED)
    evaluation = Evaluation(
        paper=paper,
        control=[control_of(study) for study in paper],
        leakage=leakage_study_from(LEAKAGE, "tiny.toml"),
        ablation=ablation_from(ABLATION, "crossed.toml"),
        ties=ties_studies(next(study for study in paper if study.name == "moap-two")),
        both_ends=tiny(shipped_study("tsp-both-ends")),
        together=msgspec.structs.replace(whole, parts=(apart, together)),
    )
    with ThreadPoolExecutor(2) as pool:
        reproduce(evaluation, out, pool, latex=True, engine=lambda: ENGINE)


def test_all_tables_and_figures_are_there(made: Path) -> None:
    out = made
    for text in ((out / "report.md").read_text(), (out / "report.html").read_text()):
        for number in range(1, 15):
            assert re.search(rf"Table {number}\b", text), f"Table {number}"
        for number in range(2, 10):
            assert re.search(rf"Figure {number}:", text), f"Figure {number}"
        assert "22,425,000" in text
        assert "22,450,000" in text
        assert "10 ms delay" in text
        assert "Attacked again" in text
        assert "By family of costs: assignment" in text
        for file in re.findall(r"figures/[\w-]+\.png", text):
            assert (out / file).read_bytes().startswith(b"\x89PNG")
    assert len(list((out / "figures").iterdir())) == 8


def test_objectives_in_one_evaluation_stand_beside_those_apart(made: Path) -> None:
    text = (made / "report.md").read_text()
    section = text[text.index("## Several objectives in one evaluation") :]
    rows = re.findall(r"^\| (\S+) \| [\d,]+ \(", section, flags=re.MULTILINE)
    expected = ["none", "quantiles:5", "top:60", *CLAIMED]
    assert rows[: 2 * len(expected)] == expected * 2
    for file in re.findall(r"together/\w+\.png", section):
        assert (made / file).read_bytes().startswith(b"\x89PNG")


def test_the_ways_of_breaking_ties_stand_side_by_side(made: Path) -> None:
    out = made
    text = (out / "report.md").read_text()
    assert "## Ties" in text
    assert "| configuration | the paper | random | shared | first | last |" in text
    by_column = msgspec.json.decode((out / "summary.json").read_bytes())["ties"]
    assert by_column.keys() == {"moap-two gd+", "moap-two igd+"}
    for by_way in by_column.values():
        assert list(by_way) == list(TIES)
        medians = [spreads["above:80"]["median"] for spreads in by_way.values()]
        assert len(set(medians)) == len(TIES)
        for name, spread in by_way["first"].items():
            median, iqr = round(spread["median"]), round(spread["iqr"])
            assert re.search(rf"\| {name} .* {median:,} \({iqr:,}\), \d ", text), name


def test_table_1_is_the_papers_cell_by_cell(made: Path) -> None:
    assert "110 of 110 cells are the paper's" in (made / "report.md").read_text()
    assert not any(cell.marked for row in example_table().rows for cell in row)


def test_both_variants_of_edge_crossover_stand_beside_the_paper(
    made: Path,
) -> None:
    text = (made / "report.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| top:60 | 31,318 |")]
    (cells,) = [[cell.strip(" *") for cell in row.strip("|").split("|")] for row in rows]
    assert cells[2] != cells[4], "the two variants give different tours"
    # Six generations are far from five hundred.
    assert float(cells[3]) > 2
    assert float(cells[5]) > 2
    assert "At least 2 standard errors off: 7 and 7 of 7. These runs do not tell" in text


def test_the_papers_figures_stand_beside_ours(made: Path) -> None:
    out = made
    text = (out / "report.md").read_text()
    assert "22,579 (948)" in text
    assert "98.11 (0.37)" in text
    assert "5,597 (546)" in text
    assert re.search(r"\*\*-?[01]\.\d / -1\.0\*\*|-?[01]\.\d / -1\.0", text)


def test_summary(made: Path) -> None:
    out = made
    summary = msgspec.json.decode((out / "summary.json").read_bytes())
    assert summary["seconds"] > 0
    names = {f"{column} {stage}" for column in COLUMNS for stage in ("summary", "comparison")}
    assert set(summary["spearman"]) == names
    assert len(names) == 12
    assert len(summary["findings"]) == 47
    assert len(summary["later_rule"]["findings"]) == 48
    assert set(summary["findings"]) == set(summary["findings_after_holm"])
    assert set(summary["findings"]) < {finding.name for finding in all_findings()}
    assert all(isinstance(value, bool) for value in summary["findings"].values())
    assert set(summary["later_rule"]["spearman"]) == names
    assert set(summary["medians"]) == set(COLUMNS)
    assert summary["medians"]["tsp"].keys() == summary["medians"]["ap"].keys()
    assert summary["runs_computed"] == 14 * 3 * (8 + 7)
    reached = summary["engine"]["delays"][1]["generations"]["buckets"]
    assert reached == {"median": 500, "low": 500, "high": 500}
    assert set(summary["engine"]["delays"][0]["leaders"]) == set(COLUMNS)
    assert set(summary["engine"]["leaders_with_papers_times"]) == set(COLUMNS)


def test_summary_of_the_evidence(made: Path) -> None:
    out = made
    summary = msgspec.json.decode((out / "summary.json").read_bytes())
    stages = ("initial", "final", "comparison")
    assert set(summary["z_scores"]) == {f"{name} {stage}" for name in COLUMNS for stage in stages}
    assert summary["z_scores"]["tsp final"]["limit"] == 1.96
    assert len(summary["z_scores"]["ap final"]["z"]) == 14
    control = summary["control"]
    assert control["same_runs"]["tsp"]["findings"] == 9
    assert control["wrong_operators"]["all"]["findings"] == 47
    assert control["wrong_operators"]["all"]["medians"] == 14 * 2 * 6
    # Studies as small as these are compared with all of their runs.
    assert control["same_runs"]["moap-one"] == control["all_runs"]["moap-one"]
    wins = summary["significant_wins"]["ap"]
    assert len(wins["uncorrected"]) == len(wins["holm"]) == 2


def test_both_rules_stand_side_by_side_the_original_first(made: Path) -> None:
    out = made
    text = (out / "report.md").read_text()
    assert "| column of medians | original rule | later rule |" in text
    heading = re.search(r"(\d+) of 47 hold by the original rule, (\d+) of 48 by the later", text)
    assert heading
    summary = msgspec.json.decode((out / "summary.json").read_bytes())
    assert int(heading[1]) == sum(summary["findings"].values())
    assert int(heading[2]) == sum(summary["later_rule"]["findings"].values())


def test_algorithm_and_disclosure_are_set_apart(made: Path) -> None:
    out = made
    for text in ((out / "report.md").read_text(), (out / "report.html").read_text()):
        assert "Algorithm or disclosure?" in text
        assert "factors between median gaps" in text
        assert "crossed/gaps.png" in text
    assert (out / "crossed/gaps.png").read_bytes().startswith(b"\x89PNG")
    found = msgspec.json.decode((out / "summary.json").read_bytes())["ablation"]
    assert list(found["effects"]) == ["kroD100, 0.1 s, 0 ms", "kroD100, 0.4 s, 0 ms"]
    assert found["runs_computed"] == 30


def test_latex_is_balanced_and_escaped(made: Path) -> None:
    out = made
    files = list((out / "latex").glob("*.tex"))
    assert len(files) >= 16
    for file in files:
        lines = [line for line in file.read_text().splitlines() if not line.startswith("%")]
        text = "\n".join(lines)
        assert re.findall(r"\\begin\{(\w+)\}", text) == re.findall(r"\\end\{(\w+)\}", text)[::-1]
        stripped = re.sub(r"\\[\\{}%&_#$]", "", text)
        assert stripped.count("{") == stripped.count("}")
        assert not re.search(r"[%#$_]", stripped.replace(r"$\times$", ""))
        columns = re.search(r"\\begin\{tabular\}\{(l?r*)\}", text)
        assert columns
        body = text.split("\\toprule")[1].split("\\bottomrule")[0]
        for row in body.replace("\\midrule", "").strip().split("\\\\\n"):
            assert len(re.findall(r"(?<!\\)&", row)) == len(columns[1]) - 1, row


def test_a_second_start_computes_nothing_and_says_what_was_not_measured(
    made: Path, tmp_path: Path
) -> None:
    out = tmp_path / "again"
    shutil.copytree(made, out)
    evaluation = Evaluation(paper=[tiny(shipped_study("ap"))])
    with ThreadPoolExecutor(1) as pool:
        again = reproduce(evaluation, out, pool)
    assert again.finished["ap"].computed == 0
    text = (out / "report.md").read_text()
    assert "were not measured" in text
    assert "not part of a quick reproduction" in text
