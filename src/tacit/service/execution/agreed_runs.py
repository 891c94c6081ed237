"""Read everything that the execution of a run needs from the database, in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from tacit.agreement import (
    Agreement,
    SignedSeries,
    read_agreement,
)
from tacit.client import CarriedManifest, RunState
from tacit.errors import NotThereError
from tacit.service.storage import StoredBoxes, members_of, read_run, sealed_rows
from tacit.service.workflow.series import signed_series
from tacit.service.workflow.terms import Weights, public_weights


@dataclass(frozen=True)
class StoredAgreement:
    """An agreed run with everything that its participants have given."""

    run_id: str
    state: RunState
    cluster: str
    operator: str
    deadline_seconds: float
    data: bytes
    agreement: Agreement
    signatures: dict[str, bytes]
    rows: list[StoredBoxes]
    public: Weights = field(default_factory=dict)
    """Of public objectives."""
    series: SignedSeries | None = None
    """What everybody signed once, where it is a run of a series."""

    @property
    def is_complete(self) -> bool:
        """Whether the rows of all owners are here and none is refused."""
        there = {
            (each.participant, each.objective) for each in self.rows if each.state != "refused"
        }
        return all(
            (owner.participant, k) in there
            for k in self.agreement.confidential()
            for owner in self.agreement.objectives[k].owners
        )

    def manifests(self) -> dict[int, list[bytes]]:
        """Per objective, in the agreement's order of owners."""
        there = {(each.participant, each.objective): each.manifest for each in self.rows}
        return {
            k: [there[owner.participant, k] for owner in self.agreement.objectives[k].owners]
            for k in self.agreement.confidential()
        }

    def signed_manifests(self) -> list[CarriedManifest]:
        """As participants check them."""
        return [
            CarriedManifest(
                participant=each.participant,
                objective=each.objective,
                manifest=each.manifest.hex(),
                signature=each.signature.hex(),
            )
            for each in self.rows
        ]


def stored_agreement(session: Session, run_id: str, /) -> StoredAgreement:
    """Everything about an agreed run, or a `NotThereError`."""
    run = read_run(session, run_id)
    if run.agreement is None or run.cluster is None:
        raise NotThereError("the run has no agreement yet; wait until all have joined")
    members = members_of(session, run_id)
    return StoredAgreement(
        run_id=run_id,
        state=run.state,
        cluster=run.cluster,
        operator=run.created_by,
        deadline_seconds=run.terms.deadline_seconds,
        data=run.agreement,
        agreement=read_agreement(run.agreement),
        signatures={each.participant: each.signature for each in members if each.signature},
        rows=sealed_rows(session, run_id),
        public=public_weights(run.terms),
        series=None if run.series is None else signed_series(session, run.series),
    )
