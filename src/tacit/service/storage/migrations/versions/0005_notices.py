"""Notices: mail addresses, webhooks, and what is still to be delivered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go on from the step before."""
    op.create_table(
        "contact",
        sa.Column("account", sa.String(length=63), nullable=False),
        sa.Column("mail", sa.String(length=254), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["account.name"], name="fk_contact_account_account"),
        sa.PrimaryKeyConstraint("account", name="pk_contact"),
    )
    op.create_table(
        "webhook",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("account", sa.String(length=63), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["account"], ["account.name"], name="fk_webhook_account_account"),
        sa.PrimaryKeyConstraint("id", name="pk_webhook"),
    )
    op.create_index("ix_webhook_account", "webhook", ["account"])
    op.create_table(
        "notice",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("account", sa.String(length=63), nullable=False),
        sa.Column("webhook", sa.String(length=16), nullable=True),
        sa.Column("kind", sa.String(length=24), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.Double(), nullable=True),
        sa.Column("sent", sa.Double(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["account"], ["account.name"], name="fk_notice_account_account"),
        sa.PrimaryKeyConstraint("id", name="pk_notice"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_notice_next_at", "notice", ["next_at"])
    op.create_table(
        "notice_cursor",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_notice_cursor"),
    )
    # Nobody is told of what happened before there were notices.
    op.execute("INSERT INTO notice_cursor (id, event) SELECT 1, COALESCE(MAX(id), 0) FROM event")


def downgrade() -> None:
    """Go back to the step before."""
    op.drop_table("notice_cursor")
    op.drop_table("notice")
    op.drop_table("webhook")
    op.drop_table("contact")
