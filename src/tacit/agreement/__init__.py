"""Agreements and series, which everybody signs, with the rows and plans that are sealed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.agreement.draft import (
        check_agreement,
        draft_agreement,
        pin_sealed,
        weights_digest,
        with_front,
    )
    from tacit.agreement.equity import (
        OwnAccount,
        equity_shape,
        open_told,
        owners_by_name,
        plan_digest,
        seal_told,
    )
    from tacit.agreement.plan_parts import (
        CarriedPart,
        OwnPart,
        PlanContext,
        PlanHeads,
        SealedParts,
        carried_parts,
        open_part,
        put_together,
        rows_for,
        seal_plan,
    )
    from tacit.agreement.sealed_groups import (
        AssignmentGroup,
        SealedGroup,
        TourGroup,
        assignment_groups,
        grouped_searches,
        tour_groups,
    )
    from tacit.agreement.sealed_run import (
        NO_IMPROVEMENTS,
        SealedRun,
        Stage,
        StageKind,
        plans_by_objective,
    )
    from tacit.agreement.sealing import (
        Manifest,
        SealedRows,
        box_hash,
        manifests_digest,
        read_manifest,
        seal_rows,
        search_seed,
    )
    from tacit.agreement.series import (
        DAY,
        RunRecord,
        Series,
        SeriesLimits,
        SeriesNode,
        SeriesSchedule,
        SignedSeries,
        TakenRun,
        Varying,
        check_series_signed,
        objection_to_pace,
        objection_to_run,
        read_series,
        series_hash,
        sign_series,
    )
    from tacit.agreement.series_rules import (
        check_series,
        check_still_runs,
        check_within,
        departures,
        draft_series,
    )
    from tacit.agreement.signatures import (
        Joining,
        check_signatures,
        is_joining_signed,
        is_signed,
        sealing_private,
        sealing_public,
        sign_agreement,
        sign_joining,
        sign_offer,
    )
    from tacit.agreement.sizes import weights_bytes
    from tacit.agreement.terms import (
        BROKEN,
        COUNTS,
        Agreement,
        AgreementLimits,
        FrontReveal,
        NodeTerms,
        ObjectiveTerms,
        PinnedSearch,
        RunOfSeries,
        agreement_hash,
        canonical,
        loss_words,
        promise_of,
        read_agreement,
    )
else:
    __getattr__ = lazily(__name__)
