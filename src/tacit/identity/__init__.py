"""Identities: keys, certificates, and the config files that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.identity.certificates import (
        AUTHORITY_FILE,
        CertificateFiles,
        expires,
        expiry_warnings,
        https_hosts,
        is_own_https,
        last_expires,
        new_certificate,
        read_certificate,
        write_https_certificate,
    )
    from tacit.identity.cluster import LOCAL_PREFIX, join_cluster, write_cluster
    from tacit.identity.config import (
        ClusterConfig,
        NodeConfig,
        load_cluster_config,
        load_node_config,
        parse_address,
    )
    from tacit.identity.keys import Keys, beside, key_fingerprint, load_keys, save_keys
    from tacit.identity.public_half import (
        PublicHalf,
        half_lines,
        is_half,
        load_half,
        new_node,
        new_platform,
        renewed_half,
        short_fingerprints,
    )
    from tacit.identity.rotation import Rotated, rotated_by_node, rotated_by_platform
else:
    __getattr__ = lazily(__name__)
