"""Who is who: keys, certificates, and the config files that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.identity.certificates import (
        CertificateFiles,
        new_certificate,
        read_certificate,
    )
    from tacit.identity.cluster_files import LOCAL_PREFIX, write_cluster
    from tacit.identity.config import (
        ClusterConfig,
        NodeConfig,
        load_cluster_config,
        load_node_config,
        parse_address,
    )
    from tacit.identity.expiry import expires, expiry_warnings, last_expires
    from tacit.identity.https_certificate import (
        AUTHORITY_FILE,
        https_hosts,
        is_own_https,
        write_https_certificate,
    )
    from tacit.identity.joining import join_cluster
    from tacit.identity.keys import Keys, key_fingerprint, load_keys, save_keys
    from tacit.identity.new_party import new_node, new_platform, renewed_half
    from tacit.identity.public_half import (
        PublicHalf,
        half_lines,
        is_half,
        load_half,
        short_fingerprint,
    )
    from tacit.identity.rotation import Rotated, rotated_by_node, rotated_by_platform
else:
    __getattr__ = lazily(__name__)
