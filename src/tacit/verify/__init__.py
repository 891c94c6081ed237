"""Whether nodes and platform did what was signed: logs and ledgers, checked and replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.verify.bundle import (
        Bundle,
        BundledManifest,
        LogSignature,
        bundle_nonce,
        read_bundle,
        write_bundle,
    )
    from tacit.verify.bundle_check import bundled_logs, check_bundle, check_rest, claim_of
    from tacit.verify.claimed_result import ClaimedResult, read_claimed
    from tacit.verify.equity import check_counted, counted_run, surely_counted
    from tacit.verify.evidence import check_evidence
    from tacit.verify.inputs import check_inputs
    from tacit.verify.loss import describe_loss
    from tacit.verify.run_check import check_run
    from tacit.verify.verdict import Claim, Finding, Verdict
else:
    __getattr__ = lazily(__name__)
