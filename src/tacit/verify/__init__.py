"""Checks that nodes and platform did what was signed, from logs and ledgers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.verify.bundle import (
        Bundle,
        BundledManifest,
        LogSignature,
        bundle_nonce,
        bundled_logs,
        check_bundle,
        check_rest,
        claim_of,
        read_bundle,
        write_bundle,
    )
    from tacit.verify.claims import Claim, ClaimedResult, read_claimed
    from tacit.verify.equity import check_counted, counted_run, surely_counted
    from tacit.verify.logs import check_evidence, describe_loss
    from tacit.verify.verdict import Finding, Verdict, check_inputs, check_run
else:
    __getattr__ = lazily(__name__)
