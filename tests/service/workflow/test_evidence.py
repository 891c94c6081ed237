"""The record of a platform's run, made from its files alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tacit.agreement.terms import Agreement, read_agreement
from tacit.audit import Record, Recorder, audit_record, load_record
from tacit.cli import service
from tacit.derived import agreed_parameters
from tacit.disclosure import estimator_named
from tacit.errors import InputError, LogError, NotThereError, WrongStateError
from tacit.problems import Problem
from tacit.records.ledger import FileLedger
from tacit.records.requests import pack_candidates, request_hash
from tacit.runs import EvaluatingDriver, Limits, Progress, drive, simulated_evaluator
from tacit.runs.agreed import LEDGER
from tacit.service.dashboard.drafts import ObjectiveRule, drawn_problem, usual_terms
from tacit.service.execution.report import Report, report_part
from tacit.service.server.settings import Settings
from tacit.service.storage import read_run, replace_run_file
from tacit.service.storage.run_files import REPORT
from tacit.service.workflow.evidence import record_of_run
from tests.on_nodes.entries import evaluation
from tests.service.example_terms import agreement_on
from tests.service.world import World

SEED, EVALUATIONS = 7, 6


def write_report(folder: Path, report: Report) -> None:
    (folder / REPORT).write_bytes(report_part(report).data)


def drawn() -> Problem:
    return drawn_problem("delays", rows=6, columns=8, participants=2, seed=3)


def agreed(disclosure: str = "quantiles:5", best: str = "value") -> Agreement:
    terms = usual_terms(
        drawn(),
        [ObjectiveRule(disclosure, best)],
        limits={"evaluations": EVALUATIONS},
        parameters={"population": 30, "elites": 3, "tournament": 3},
    )
    return agreement_on(terms)


def searched(agreement: Agreement, folder: Path) -> Record:
    """A run in the clear that leaves what a worker leaves; and its record, made while it went."""
    public = agreement.known_problem
    weights = np.random.default_rng(1).integers(0, 100, (public.rows, public.columns))
    folder.mkdir(parents=True, exist_ok=True)
    problem = replace(public, objectives=(replace(public.objectives[0], weights=weights),))
    terms, recorder, ledger = agreement.objectives[0], Recorder(), FileLedger(folder / LEDGER)

    def observe(progress: Progress) -> None:
        recorder(progress)
        view = progress.evaluated
        assert view is not None
        packed = pack_candidates(agreement.known_problem, view.plans)
        asked = request_hash("evaluate", terms.disclosure, terms.best, packed).hex()
        disclosed = [int(value) for value in view.evaluation.disclosed[0]]
        number = view.record.generation + 1
        ledger.add(evaluation(number, disclosed, view.evaluation.best[0], request=asked))

    estimator = estimator_named(agreed_parameters(agreement).estimator)
    run = EvaluatingDriver(
        problem, agreed_parameters(agreement), simulated_evaluator(problem, estimator),
        seed=SEED, limits=Limits(evaluations=EVALUATIONS),
    )  # fmt: skip
    drive(run, observe=observe)
    ledger.close()
    known = run.now.best_known
    assert known is not None
    plans = problem.plans(known.genomes).tolist()
    write_report(folder, Report(stage="ended", seed=SEED, plans=plans))
    return recorder.record(plans[0])


@pytest.mark.parametrize("best", ["value", "improvement", "nothing"])
@pytest.mark.parametrize("disclosure", ["none", "quantiles:5", "top:5"])
def test_the_files_of_a_run_give_the_record_that_watching_it_gives(
    disclosure: str, best: str, tmp_path: Path
) -> None:
    agreement = agreed(disclosure, best)
    watched = searched(agreement, tmp_path)
    # A crash may leave half a line.
    with (tmp_path / LEDGER).open("ab") as file:
        file.write(b'{"objective":0,"num')
    made = record_of_run(agreement, tmp_path)
    assert len(made.sizes) == EVALUATIONS
    assert made == watched


def test_files_that_do_not_tell_enough_are_refused(tmp_path: Path) -> None:
    agreement = agreed()
    searched(agreement, tmp_path)
    write_report(tmp_path, Report(stage="ended", seed=SEED + 1, plans=[[0, 1, 2, 3, 4, 5]]))
    with pytest.raises(LogError, match="not what the agreed search asks for"):
        record_of_run(agreement, tmp_path)
    write_report(tmp_path, Report(stage="ended", plans=[[0, 1, 2, 3, 4, 5]]))
    with pytest.raises(InputError, match="names no seed"):
        record_of_run(agreement, tmp_path)
    write_report(tmp_path, Report(stage="ended", seed=SEED))
    with pytest.raises(InputError, match="found no plan"):
        record_of_run(agreement, tmp_path)


def test_of_a_sealed_run_there_is_its_plan(tmp_path: Path) -> None:
    agreement = agreed()
    terms = msgspec.structs.replace(agreement.objectives[0], disclosure="sealed", best="nothing")
    agreement = msgspec.structs.replace(agreement, objectives=[terms])
    plan = [0, 1, 2, 3, 4, 5]
    write_report(tmp_path, Report(stage="ended", plans=[plan]))
    record = record_of_run(agreement, tmp_path)
    assert (record.sizes, record.published) == ([], plan)
    weights = drawn().objectives[0].weights
    assert weights is not None
    report = audit_record(record, weights.astype(np.float64))
    assert list(report.attacks) == ["prior alone", "plan only"]


def test_an_operator_records_a_run_that_has_ended(
    world: World, settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Path(settings.folder) / "service.toml"
    with pytest.raises(NotThereError, match="no such run"):
        service.record("r-nobody", config)
    with pytest.raises(WrongStateError, match="to be recorded"):
        service.record(world.draft(), config)
    run_id = world.ended()
    with pytest.raises(InputError, match="found no plan"):
        service.record(run_id, config)
    with world.platform.database.reading() as session:
        data = read_run(session, run_id).agreement
    assert data is not None
    watched = searched(read_agreement(data), tmp_path / "files")
    with world.platform.database.writing() as session:
        for path in (tmp_path / "files").iterdir():
            replace_run_file(session, run_id, path.name, path.read_bytes())
    service.record(run_id, config)
    path = settings.data_folder / f"{run_id}.record"
    assert capsys.readouterr().out.strip() == str(path)
    assert load_record(path) == watched
    service.record(run_id, config, out=tmp_path / "my.record")
    assert load_record(tmp_path / "my.record") == watched
