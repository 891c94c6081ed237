"""The record of a platform's run, for `tacit audit`: made afterwards, from files that are there.

The ledger, the agreement and the seed give every candidate again, so nothing has to be kept while a
run is running, and nothing is slower for it. It also means that a platform which promises not to
record could still do so at any time.
"""

from __future__ import annotations

from pathlib import Path

from tacit.agreement import Agreement, read_agreement
from tacit.audit import Record, Recorder, record_of_plans
from tacit.errors import InputError
from tacit.runs import LEDGER, run_from_ledger
from tacit.service.execution.report import Report, read_report, run_folder
from tacit.service.server.settings import Settings
from tacit.service.storage import Database, read_run
from tacit.service.workflow.lifecycle import ENDS, check_state
from tacit.service.workflow.terms import Weights, public_weights, stored_terms

RECORD = "run.record"


def record_run(settings: Settings, run_id: str, /, *, out: Path | None = None) -> Path:
    """Write the record of a run that has ended: into its folder, or where `out` says."""
    database = Database(settings.database_url)
    try:
        with database.reading() as session:
            run = read_run(session, run_id)
            check_state(run.where, ENDS, to="be recorded")
            data, public = run.agreement, public_weights(stored_terms(run.terms))
    finally:
        database.close()
    if data is None:
        raise InputError("the run ended before there was an agreement, so nothing was disclosed")
    folder = run_folder(settings.data_folder, run_id)
    path = folder / RECORD if out is None else out
    record_of_run(read_agreement(data), folder, public).save(path)
    return path


def record_of_run(agreement: Agreement, folder: Path, public: Weights | None = None, /) -> Record:
    """What the platform saw of a run, from the run's folder; `public` is for public objectives."""
    report = read_report(folder)
    if report is None or not (report.plans or report.for_owners):
        raise InputError("the run has found no plan, so there is nothing to record")
    if all(agreement.objectives[k].sealed for k in agreement.confidential()):
        return _sealed(agreement, report)
    if report.seed is None:
        raise InputError("the report of the run names no seed; restore the run's folder")
    recorder = Recorder()
    run_from_ledger(agreement, folder / LEDGER, seed=report.seed, observe=recorder, public=public)
    return recorder.record(report.plans[0])


def _sealed(agreement: Agreement, report: Report) -> Record:
    search = {"algorithm": agreement.search.algorithm, **agreement.search.parameters}
    value = report.disclosed[0] if report.disclosed else None
    return record_of_plans(agreement.known_problem, report.plans, search=search, value=value)
