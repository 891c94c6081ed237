"""Three real nodes and runs of a series: what all signed once holds for each of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tacit.agreement import RunRecord, SignedSeries, series_hash, sign_series
from tacit.agreement.terms import agreement_hash, canonical
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.node.series import FOLDER
from tacit.node.store import folder_name
from tests.agreement.made_series import run_of, series_like
from tests.on_nodes.agreed_cluster import AgreedCluster, run

pytestmark = pytest.mark.processes


def test_all_nodes_take_a_run_within_its_series_and_none_takes_another(
    cluster: LocalCluster,
) -> None:
    agreed = AgreedCluster.draft(cluster, seed=None)
    sizes = {"least_rows": 6, "most_rows": 6, "least_columns": 6, "most_columns": 6}
    limits = {"evaluations": 20, "population_min": 4, "population_max": 300, "run_hours": 2.0}
    series = series_like(agreed.agreement, varying=sizes, limits=limits)
    signatures = {name: sign_series(series, key) for name, key in agreed.keys.items()}
    signed = SignedSeries(canonical(series), signatures)
    honest = run_of(series, agreed.agreement)
    wider = replace(honest, limits=replace(honest.limits, evaluations=21))
    unsigned = SignedSeries(signed.data, {**signatures, next(iter(signatures)): bytes(64)})

    async def hand_over() -> None:
        for offered, shown, why in (
            (wider, signed, "not within its series: it allows 21 evaluations"),
            (honest, unsigned, "has not signed this series"),
            (honest, None, "names a series that is not known here"),
        ):
            agreed.agreement = offered
            async with agreed.coordinator() as coordinator:
                with pytest.raises(RefusedError, match=why):
                    await coordinator.start_agreement(agreed.signatures, within=20, series=shown)
        agreed.agreement = honest
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=20, series=signed)

    run(hand_over())
    for node in range(3):
        data = cluster.folder / f"node-{node}.data"
        assert (data / folder_name(agreement_hash(honest))).exists()
        assert not (data / folder_name(agreement_hash(wider))).exists()
        (taken,) = RunRecord(data / FOLDER / series_hash(series) / "runs.jsonl").runs()
        assert (taken.number, taken.agreement) == (1, agreement_hash(honest).hex())
