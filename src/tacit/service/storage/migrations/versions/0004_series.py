"""Series of runs that are signed once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go on from the step before."""
    op.create_table(
        "series",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("terms", sa.JSON(), nullable=False),
        sa.Column("cluster", sa.String(length=100), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=True),
        sa.Column("hash", sa.String(length=64), nullable=True),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("next_at", sa.Double(), nullable=True),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["created_by"], ["account.name"], name="fk_series_created_by_account"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
    )
    op.create_table(
        "series_member",
        sa.Column("series", sa.String(length=16), nullable=False),
        sa.Column("participant", sa.String(length=63), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=True),
        sa.Column("signed", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["series"], ["series.id"], name="fk_series_member_series_series"),
        sa.ForeignKeyConstraint(
            ["participant"], ["account.name"], name="fk_series_member_participant_account"
        ),
        sa.PrimaryKeyConstraint("series", "participant", name="pk_series_member"),
    )
    op.create_index("ix_series_member_participant", "series_member", ["participant"])
    # Not as a batch, which creates a new table: members and events refer to the one that is there.
    op.add_column("run", sa.Column("series", sa.String(length=16), nullable=True))
    op.add_column("run", sa.Column("series_number", sa.Integer(), nullable=True))
    op.create_index("ix_run_series", "run", ["series"])


def downgrade() -> None:
    """Go back to the step before."""
    op.drop_index("ix_run_series", "run")
    op.drop_column("run", "series_number")
    op.drop_column("run", "series")
    op.drop_table("series_member")
    op.drop_table("series")
