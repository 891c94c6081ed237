"""The tables of the first release."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create all tables."""
    _accounts()
    _series()
    _runs()
    _participation()
    _notices()


def _accounts() -> None:
    op.create_table(
        "account",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("signing_key", sa.String(length=64), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_account"),
        sa.UniqueConstraint("signing_key", name="uq_account_signing_key"),
    )
    op.create_table(
        "invitation",
        sa.Column("code_hash", sa.String(length=64), nullable=False),
        sa.Column("account", sa.String(length=63), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("used", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["account"], ["account.name"], name="fk_invitation_account_account"
        ),
        sa.PrimaryKeyConstraint("code_hash", name="pk_invitation"),
    )
    op.create_index("ix_invitation_account", "invitation", ["account"])
    op.create_table(
        "token",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("account", sa.String(length=63), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("revoked", sa.Double(), nullable=True),
        sa.Column("label", sa.String(length=100), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["account.name"], name="fk_token_account_account"),
        sa.PrimaryKeyConstraint("hash", name="pk_token"),
    )
    op.create_index("ix_token_account", "token", ["account"])


def _series() -> None:
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


def _runs() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("terms", sa.JSON(), nullable=False),
        sa.Column("cluster", sa.String(length=100), nullable=True),
        sa.Column("agreement", sa.LargeBinary(), nullable=True),
        sa.Column("agreement_hash", sa.String(length=64), nullable=True),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("running_since", sa.Double(), nullable=True),
        sa.Column("deadline_at", sa.Double(), nullable=True),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.Column("progress", sa.JSON(), nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("series", sa.String(length=16), nullable=True),
        sa.Column("series_number", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["account.name"], name="fk_run_created_by_account"),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
    )
    op.create_index("ix_run_state", "run", ["state"])
    op.create_index("ix_run_series", "run", ["series"])
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("run", sa.String(length=16), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_event_run_run"),
        sa.PrimaryKeyConstraint("id", name="pk_event"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_event_run_id", "event", ["run", "id"])


def _participation() -> None:
    op.create_table(
        "member",
        sa.Column("run", sa.String(length=16), nullable=False),
        sa.Column("participant", sa.String(length=63), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("rows", sa.JSON(), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=True),
        sa.Column("signed", sa.Double(), nullable=True),
        sa.Column("submitted", sa.Double(), nullable=True),
        sa.Column("submission_state", sa.String(length=16), nullable=False),
        sa.Column("submission_reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["participant"], ["account.name"], name="fk_member_participant_account"
        ),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_member_run_run"),
        sa.PrimaryKeyConstraint("run", "participant", name="pk_member"),
    )
    op.create_index("ix_member_participant", "member", ["participant"])
    op.create_table(
        "sealed",
        sa.Column("run", sa.String(length=16), nullable=False),
        sa.Column("participant", sa.String(length=63), nullable=False),
        sa.Column("objective", sa.Integer(), nullable=False),
        sa.Column("manifest", sa.LargeBinary(), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=False),
        sa.Column("box0", sa.LargeBinary(), nullable=False),
        sa.Column("box1", sa.LargeBinary(), nullable=False),
        sa.Column("box2", sa.LargeBinary(), nullable=False),
        sa.Column("box3", sa.LargeBinary(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["participant"], ["account.name"], name="fk_sealed_participant_account"
        ),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_sealed_run_run"),
        sa.PrimaryKeyConstraint("run", "participant", "objective", name="pk_sealed"),
    )


def _notices() -> None:
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
    op.execute("INSERT INTO notice_cursor (id, event) VALUES (1, 0)")
