"""What a release is made with: lock files, reproducible builds, bills of materials, audits."""
