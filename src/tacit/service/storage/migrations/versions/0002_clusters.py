"""What was called a trio is a cluster."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go on from the step before."""
    with op.batch_alter_table("run") as table:
        table.alter_column("trio", new_column_name="cluster")


def downgrade() -> None:
    """Go back to the step before."""
    with op.batch_alter_table("run") as table:
        table.alter_column("cluster", new_column_name="trio")
