"""The agreement: its terms, drafting, checks, signatures, sealed rows and the search's seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.agreement.account_boxes import OwnAccount, open_told, seal_told
    from tacit.agreement.check import check_agreement
    from tacit.agreement.draft import draft_agreement, pin_sealed, weights_digest, with_front
    from tacit.agreement.equity_check import equity_shape, owners_by_name, plan_digest
    from tacit.agreement.own_part import OwnPart, put_together
    from tacit.agreement.owners import rows_for
    from tacit.agreement.participant_keys import sealing_private, sealing_public
    from tacit.agreement.plan_parts import (
        CarriedPart,
        PlanContext,
        PlanHeads,
        SealedParts,
        carried_parts,
        open_part,
        seal_plan,
    )
    from tacit.agreement.promise import BROKEN, COUNTS, loss_words, promise_of
    from tacit.agreement.sealed_groups import (
        AssignmentGroup,
        SealedGroup,
        TourGroup,
        assignment_groups,
        grouped_searches,
        tour_groups,
    )
    from tacit.agreement.sealed_run import NO_IMPROVEMENTS, SealedRun, Stage, StageKind
    from tacit.agreement.sealing import (
        Manifest,
        SealedRows,
        box_hash,
        manifests_digest,
        read_manifest,
        seal_rows,
        search_seed,
    )
    from tacit.agreement.sealing_offer import sign_offer
    from tacit.agreement.signatures import (
        Joining,
        check_signatures,
        is_joining_signed,
        is_signed,
        sign_agreement,
        sign_joining,
    )
    from tacit.agreement.terms import (
        Agreement,
        AgreementLimits,
        FrontReveal,
        NodeTerms,
        ObjectiveTerms,
        PinnedSearch,
        RunOfSeries,
        agreement_hash,
        canonical,
        read_agreement,
    )
else:
    __getattr__ = lazily(__name__)
