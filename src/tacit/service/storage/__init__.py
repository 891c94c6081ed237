"""What the platform remembers: tables, migrations, and one file of queries per table group.

A query is a plain function that takes a session first. `Database.read` and `Database.write` run
one in a thread, in a transaction of its own::

    run = await database.read(read_run, run_id)
    await database.write(set_state, run_id, State.RUNNING, running_since=now)
"""

from tacit.service.storage.accounts import (
    add_account as add_account,
    create_account as create_account,
    find_account as find_account,
    list_accounts as list_accounts,
)
from tacit.service.storage.database import Database as Database
from tacit.service.storage.events import add_event as add_event, events_after as events_after
from tacit.service.storage.members import (
    add_members as add_members,
    members_of as members_of,
    members_with_keys as members_with_keys,
    read_member as read_member,
    runs_of_participant as runs_of_participant,
    set_signature as set_signature,
)
from tacit.service.storage.models import (
    Account as Account,
    Event as Event,
    Invitation as Invitation,
    Member as Member,
    Run as Run,
    Sealed as Sealed,
    Token as Token,
)
from tacit.service.storage.runs import (
    add_warning as add_warning,
    create_run as create_run,
    list_runs as list_runs,
    read_run as read_run,
    runs_in_state as runs_in_state,
    set_agreement as set_agreement,
    set_progress as set_progress,
    set_state as set_state,
)
from tacit.service.storage.submissions import (
    sealed_of as sealed_of,
    sealed_rows as sealed_rows,
    set_submission_state as set_submission_state,
    store_sealed as store_sealed,
)
