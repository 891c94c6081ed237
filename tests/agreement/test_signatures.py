"""Signatures count for one purpose, one party and one occasion."""

from __future__ import annotations

from dataclasses import replace as changed
from typing import get_args

import pytest
from msgspec.structs import replace

from tacit.agreement.signatures import (
    Joining,
    Purpose,
    check_offers,
    check_signatures,
    is_joining_signed,
    is_offered,
    is_signed,
    sign,
    sign_joining,
)
from tacit.agreement.terms import agreement_hash
from tacit.errors import AgreementError
from tacit.identity.keys import Keys
from tests.on_nodes.fixtures import example_cast
from tests.on_nodes.owners_cast import owners_cast

KEYS, OTHER = Keys.new("one"), Keys.new("other")


def test_a_signature_counts_for_its_purpose_and_its_data_alone() -> None:
    purposes: tuple[Purpose, ...] = get_args(Purpose)
    for purpose in purposes:
        signature = sign(KEYS.signing, purpose, b"data")
        counts = [p for p in purposes if is_signed(KEYS.signing_public, p, b"data", signature)]
        assert counts == [purpose]
        assert not is_signed(KEYS.signing_public, purpose, b"date", signature)
        assert not is_signed(OTHER.signing_public, purpose, b"data", signature)
        assert not is_signed(KEYS.signing_public, purpose, b"data", bytes(64))
        assert not is_signed("no key", purpose, b"data", signature)


def test_a_joining_counts_for_one_code_account_and_platform() -> None:
    joining = Joining("tci_a", "north", "https://one")
    signature = sign_joining(joining, KEYS.signing)
    assert is_joining_signed(KEYS.signing_public, joining, signature)
    for other in (
        changed(joining, code="tci_b"),
        changed(joining, account="south"),
        changed(joining, platform="https://other"),
        # The same text, cut elsewhere.
        Joining("tci_an", "orth", "https://one"),
        Joining("tci_a", "northh", "ttps://one"),
    ):
        assert not is_joining_signed(KEYS.signing_public, other, signature)


def test_every_participant_signs_also_the_last() -> None:
    cast = owners_cast()
    digest = agreement_hash(cast.agreement)
    signed = {name: sign(key, "agreement", digest) for name, key in cast.participants.items()}
    check_signatures(cast.agreement, signed)
    for name in signed:
        with pytest.raises(AgreementError, match="has not signed"):
            check_signatures(cast.agreement, {**signed, name: bytes(64)})
        without = {other: each for other, each in signed.items() if other != name}
        with pytest.raises(AgreementError, match="has not signed"):
            check_signatures(cast.agreement, without)


def test_a_sealing_key_is_offered_by_its_node_for_one_agreement_of_one_platform() -> None:
    agreement = example_cast().agreement
    check_offers(agreement)
    node, nonce, platform = agreement.nodes[0], agreement.nonce, agreement.platform
    assert is_offered(node, nonce=nonce, platform=platform)
    assert not is_offered(node, nonce="ab" * 16, platform=platform)
    assert not is_offered(node, nonce=nonce, platform="ab" * 32)
    for offer in (
        replace(node, sealing_key="ab" * 32),
        replace(node, signing_key=OTHER.signing_public),
        replace(node, sealing_signature="ab" * 64),
        replace(node, sealing_signature="none"),
    ):
        assert not is_offered(offer, nonce=nonce, platform=platform)
        with pytest.raises(AgreementError, match="not signed by the node"):
            check_offers(replace(agreement, nodes=[offer, *agreement.nodes[1:]]))
