"""What was called a trio is a cluster."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go on from the step before."""
    # Not as a batch, which creates a new table: members and events refer to the one that is there.
    op.execute("ALTER TABLE run RENAME COLUMN trio TO cluster")


def downgrade() -> None:
    """Go back to the step before."""
    op.execute("ALTER TABLE run RENAME COLUMN cluster TO trio")
