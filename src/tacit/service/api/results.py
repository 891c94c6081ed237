"""The results of a run: its plan and files, the ledger, the nodes' logs, all as one bundle."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Iterable, Sequence

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse
from sqlalchemy.orm import Session

from tacit.agreement import Agreement, carried_parts, read_agreement
from tacit.client import (
    ENDS,
    CarriedLogs,
    LogQuestion,
    PartOfNode,
    Parts,
    RunResult,
    RunState,
)
from tacit.errors import WrongStateError
from tacit.plain_text import plain_cell
from tacit.records import parts_file, read_parts
from tacit.runs import LEDGER
from tacit.service.api.encoding import error_responses
from tacit.service.api.gate import Asker, Platform, RunId, ThePlatform, gated_router
from tacit.service.execution.progress_file import progress_text
from tacit.service.storage import Run, read_run, read_run_file, stream_file
from tacit.service.storage.run_files import PROGRESS
from tacit.service.storage.states import check_state
from tacit.service.workflow.evidence import (
    ended_run,
    keep_bundle,
    kept_bundle,
    make_bundle,
    run_result,
)
from tacit.service.workflow.submitting import agreement_bytes
from tacit.service.workflow.terms import problem_of_terms
from tacit.verify import bundle_nonce

EACH_ITS_PART = "there is a plan, of which each participant has its own part"
_ZIP = {"application/zip": {"schema": {"type": "string", "format": "binary"}}}
HAS_LOGS: frozenset[RunState] = ENDS | {"agreed", "submitted", "running"}


def _content(media_type: str, description: str) -> dict[int | str, dict[str, object]]:
    schema = {"schema": {"type": "string"}}
    return {200: {"content": {media_type: schema}, "description": description}}


async def _ended(platform: Platform, run_id: str) -> Run:
    run = await platform.database.read(read_run, run_id)
    check_state(run.state, ENDS, to="have a result")
    return run


def _result_csv(run: Run) -> str:
    result = run_result(run)
    if result.for_owners:
        raise WrongStateError(f"{EACH_ITS_PART}; tacit participant result shows one's own")
    items = result.plan.items if result.plan else []
    problem = problem_of_terms(run.terms, proven=True)
    first, second = problem.heads
    rows, columns = problem.labels
    row_named = problem.row_names is not None and not problem.between_places
    named = problem.column_names or (problem.between_places and problem.row_names)
    header = [first, *(["row_name"] if row_named else []), second]
    header += [("name" if problem.between_places else "column_name")] if named else []
    return _csv_text(
        header,
        (
            (
                a + problem.between_places,
                *([rows[a]] if row_named else []),
                b,
                *([columns[b]] if named else []),
            )
            for a, b in (problem.listed(items) if items else [])
        ),
    )


async def _progress(platform: Platform, run: Run) -> str:
    stored = await platform.database.read(read_run_file, run.id, PROGRESS)
    return progress_text(stored, run.progress, objectives=len(run.terms.objectives))


def _csv_text(header: Sequence[str], lines: Iterable[Sequence[object]], /) -> str:
    r"""A table as CSV.

    >>> _csv_text(["row", "name"], [(0, "@a"), (1, "b")])
    "row,name\n0,'@a\n1,b\n"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    # Names come from participants. A spreadsheet would run one that begins with = as a formula.
    writer.writerows(
        [plain_cell(cell) if isinstance(cell, str) else cell for cell in line] for line in lines
    )
    return text.getvalue()


def _download(data: str | bytes, name: str, media_type: str, /) -> Response:
    """An answer that browsers save; the name holds no text from clients."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=media_type, headers=headers)


def _own_parts(session: Session, run_id: str, agreement: Agreement, account: str) -> Parts:
    if not agreement.for_owners:
        raise WrongStateError("the plan is for everybody; ask for the result")
    kept = [
        read_run_file(session, run_id, parts_file(search))
        for search in range(agreement.sealed_plans)
    ]
    names = [each.name for each in agreement.participants]
    found = [[] if data is None else read_parts(data) for data in kept]
    place = names.index(account)
    return Parts(
        [
            [
                PartOfNode(
                    part.node, part.box, [each.hex() for each in part.box_hashes], part.commitments
                )
                for part in carried_parts(sealed, place)
            ]
            for sealed in found
        ]
    )


def results_router() -> APIRouter:
    """The routes of results."""
    router = gated_router("results")

    @router.get("/runs/{run_id}/result", responses=error_responses(404, 409))
    async def result(run_id: RunId, platform: ThePlatform) -> RunResult:
        """The result of a run that has ended; an interrupted one has its best so far."""
        return run_result(await _ended(platform, run_id))

    @router.get(
        "/runs/{run_id}/result.csv",
        response_class=Response,
        responses={**_content("text/csv", "The plan as a table."), **error_responses(404, 409)},
    )
    async def result_csv(run_id: RunId, platform: ThePlatform) -> Response:
        """The plan as CSV."""
        run = await _ended(platform, run_id)
        # In a thread: large plans take longer than others may wait for their answers.
        text = await asyncio.to_thread(_result_csv, run)
        return _download(text, f"{run.id}-result.csv", "text/csv")

    @router.get(
        "/runs/{run_id}/progress.csv",
        response_class=Response,
        responses={**_content("text/csv", "A line per generation."), **error_responses(404)},
    )
    async def progress_csv(run_id: RunId, platform: ThePlatform) -> Response:
        """Progress as CSV, also while it runs; `best` is that of the first objective.

        A run with more than 2,000 generations has a line for every second, fourth, ... of them.
        """
        run = await platform.database.read(read_run, run_id)
        return _download(await _progress(platform, run), f"{run.id}-progress.csv", "text/csv")

    @router.get(
        "/runs/{run_id}/ledger",
        response_class=StreamingResponse,
        responses={
            **_content("application/x-ndjson", "A line per evaluation."),
            **error_responses(404),
        },
    )
    async def ledger(run_id: RunId, platform: ThePlatform) -> StreamingResponse:
        """Everything that the nodes have disclosed so far, one entry per line."""
        run = await platform.database.read(read_run, run_id)
        lines = stream_file(platform.database, run.id, LEDGER)
        return StreamingResponse(lines, media_type="application/x-ndjson")

    @router.post("/runs/{run_id}/logs", responses=error_responses(404, 409, 422, 503))
    async def logs(
        run_id: RunId, body: LogQuestion, who: Asker, platform: ThePlatform
    ) -> CarriedLogs:
        """The nodes' logs, signed for this nonce, with what it takes to follow the search.

        With `heads_only` the logs have no lines, only their signed heads: a receipt to keep.
        """
        run = await platform.database.read(read_run, run_id)
        check_state(run.state, HAS_LOGS, to="have logs")
        # Raises where there is no agreement yet, before the nodes are called.
        await platform.database.read(agreement_bytes, run_id)
        nonce = bytes.fromhex(body.nonce)
        async with platform.logs.slot(who.account):
            return await platform.execution.fetch_logs(run_id, nonce, heads_only=body.heads_only)

    _add_bundles(router)
    return router


def _add_bundles(router: APIRouter) -> None:
    @router.get("/runs/{run_id}/parts", responses=error_responses(404, 409))
    async def parts(run_id: RunId, who: Asker, platform: ThePlatform) -> Parts:
        """The boxes with one's own part of a plan that is for its owners."""
        run = await platform.database.read(read_run, run_id)
        check_state(run.state, ENDS, to="have a result")
        data, _ = await platform.database.read(agreement_bytes, run_id)
        agreement = await asyncio.to_thread(read_agreement, data)
        return await platform.database.read(_own_parts, run_id, agreement, who.account)

    @router.get(
        "/runs/{run_id}/bundle",
        response_class=Response,
        responses={
            200: {"content": _ZIP, "description": "Agreement, result, ledger and logs."},
            **error_responses(404, 409, 422, 503),
        },
    )
    async def bundle(run_id: RunId, who: Asker, platform: ThePlatform) -> Response:
        """All that it takes to check a run that has ended, as one ZIP file.

        From a minute after its end it is the same file for everybody.
        """
        database = platform.database
        ended = await database.read(ended_run, run_id)
        async with platform.logs.slot(who.account):
            data = await database.read(kept_bundle, ended)
            if data is None:
                # The ledger is read first. Nodes log before they disclose, so whatever it has must
                # then be in the logs; the other way round a running search would look like a fraud.
                ledger = await database.read(read_run_file, run_id, LEDGER) or b""
                nonce = bundle_nonce(ended.agreement)
                logs = await platform.execution.fetch_logs(run_id, nonce)
                data = await asyncio.to_thread(make_bundle, ended, logs, ledger)
                data = await database.write(keep_bundle, ended, data)
        headers = {"Content-Disposition": f'attachment; filename="{run_id}.zip"'}
        return Response(data, media_type="application/zip", headers=headers)
