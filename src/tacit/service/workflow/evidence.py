"""Bundle and record runs that have ended, for the checks of participants and for `tacit audit`.

Both are made afterwards, from files that are there: ledger, agreement and seed give every candidate
again. So nothing has to be recorded while a run is running. It also means that a platform which
promises not to record could still do so at any time.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import structs
from sqlalchemy.orm import Session

from tacit.agreement import Agreement, read_agreement
from tacit.audit import Record, Recorder, record_of_plans
from tacit.client import ENDS, CarriedLogs, FoundPlans, RunResult, RunState
from tacit.errors import InputError
from tacit.runs import LEDGER, run_from_ledger
from tacit.service.execution.report import Report, read_report
from tacit.service.server.settings import Settings
from tacit.service.storage import (
    Database,
    Run,
    members_of,
    read_run,
    read_run_file,
    replace_run_file,
    restore_files,
)
from tacit.service.storage.run_files import AUDIT
from tacit.service.storage.states import check_state
from tacit.service.workflow.submitting import agreement_bytes
from tacit.service.workflow.terms import Weights, public_weights
from tacit.verify import Bundle, BundledManifest, LogSignature, write_bundle

SETTLED_SECONDS = 60.0
"""The time after the end of a run in which nodes may still log what was under way."""


def run_result(run: Run, /) -> RunResult:
    """Return the result of a run, as it was stored when the run ended."""
    found = structs.asdict(run.result or FoundPlans())
    return RunResult(**found, state=run.state, reason=run.reason)


@dataclass(frozen=True)
class Ended:
    """The part of a run's bundle that comes from the database."""

    run: str
    state: RunState
    ended: float
    agreement: bytes
    signatures: dict[str, str]
    result: bytes
    public: dict[int, list[list[int]]]

    @property
    def is_settled(self) -> bool:
        """Whether nothing of it changes any more, so that its bundle can be kept."""
        # An interrupted run can be resumed, and nodes may still log the end of what was under way.
        return self.state != "interrupted" and time.time() > self.ended + SETTLED_SECONDS


def ended_run(session: Session, run_id: str, /) -> Ended:
    run = read_run(session, run_id)
    check_state(run.state, ENDS, to="be bundled")
    data, _ = agreement_bytes(session, run_id)
    weights = public_weights(run.terms)
    signed = {each.participant: each.signature for each in members_of(session, run_id)}
    return Ended(
        run=run_id,
        state=run.state,
        ended=run.ended or 0.0,
        agreement=data,
        signatures={name: each.hex() for name, each in signed.items() if each is not None},
        result=msgspec.json.encode(run_result(run)),
        public={k: each.tolist() for k, each in weights.items()},
    )


def kept_bundle(session: Session, ended: Ended, /) -> bytes | None:
    """Return the bundle that was made before, if nothing can have changed since."""
    return read_run_file(session, ended.run, AUDIT) if ended.is_settled else None


def keep_bundle(session: Session, ended: Ended, data: bytes, /) -> bytes:
    """Keep the first bundle of a settled run, and return it: all downloads are the same."""
    # Locked: of two who made one at once, the second gets the first one's.
    read_run(session, ended.run, for_update=True)
    if (kept := kept_bundle(session, ended)) is not None:
        return kept
    if ended.is_settled:
        replace_run_file(session, ended.run, AUDIT, data)
    return data


def make_bundle(ended: Ended, logs: CarriedLogs, ledger: bytes, /) -> bytes:
    """Pack a bundle."""
    bundle = Bundle(
        run=ended.run,
        state=ended.state,
        agreement=ended.agreement,
        signatures=ended.signatures,
        logs={each.node: each.log for each in logs.logs},
        log_signatures=[
            LogSignature(each.node, each.seconds, each.signature) for each in logs.logs
        ],
        manifests=[
            BundledManifest(each.participant, each.objective, each.manifest, each.signature)
            for each in logs.manifests
        ],
        ledger=ledger,
        result=ended.result,
        public=ended.public,
    )
    return write_bundle(bundle)


def record_run(settings: Settings, run_id: str, /, *, out: Path | None = None) -> Path:
    """Write the record of a run that has ended: into the data folder, or where `out` says."""
    database = Database(settings.database_url)
    try:
        with database.reading() as session:
            run = read_run(session, run_id)
            check_state(run.state, ENDS, to="be recorded")
            data, public = run.agreement, public_weights(run.terms)
            if data is None:
                what = "the run ended before there was an agreement, so nothing was disclosed"
                raise InputError(what)
            with tempfile.TemporaryDirectory() as folder:
                restore_files(session, run_id, Path(folder))
                record = record_of_run(read_agreement(data), Path(folder), public)
    finally:
        database.close()
    path = settings.data_folder / f"{run_id}.record" if out is None else out
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    record.save(path)
    return path


def record_of_run(agreement: Agreement, folder: Path, public: Weights | None = None, /) -> Record:
    """Return the platform's view of a run, from the run's files and its public weights."""
    report = read_report(folder)
    if report is None or not (report.plans or report.for_owners):
        raise InputError("the run has found no plan, so there is nothing to record")
    if all(agreement.objectives[k].sealed for k in agreement.confidential()):
        return _sealed(agreement, report)
    if report.seed is None:
        raise InputError("the report of the run names no seed; restore a backup of the database")
    recorder = Recorder()
    run_from_ledger(agreement, folder / LEDGER, seed=report.seed, observe=recorder, public=public)
    return recorder.record(report.plans[0])


def _sealed(agreement: Agreement, report: Report) -> Record:
    search = {"algorithm": agreement.search.algorithm, **agreement.search.parameters}
    value = report.disclosed[0] if report.disclosed else None
    return record_of_plans(agreement.known_problem, report.plans, search=search, value=value)
