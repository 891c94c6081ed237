"""Clusters of four nodes: sealed rows have a fourth box."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go on from the step before."""
    op.add_column("sealed", sa.Column("box3", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Go back to the step before."""
    op.drop_column("sealed", "box3")
