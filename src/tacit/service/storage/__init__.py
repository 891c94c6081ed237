"""Store what the platform remembers: tables, and one module of queries per group of tables.

A query is a plain function that takes a session first. `Database.read` and `Database.write` run
one in a thread, in a transaction of its own::

    run = await database.read(read_run, run_id)
    await database.write(set_state, run_id, "running", running_since=now)
"""

from tacit.service.storage.accounts import add_account, create_account, find_account, list_accounts
from tacit.service.storage.claims import (
    RunClaim,
    check_fence,
    claim_work,
    database_time,
    fences_held,
    loads,
    release,
    release_all,
    renew_leases,
    workers_seen,
)
from tacit.service.storage.database import Database
from tacit.service.storage.events import add_event, events_after
from tacit.service.storage.models import (
    AccessToken,
    Account,
    Contact,
    Event,
    Invitation,
    Member,
    Notice,
    PlatformWorker,
    Run,
    RunFile,
    SeriesMember,
    StandingSeries,
    StoredBoxes,
    Webhook,
)
from tacit.service.storage.run_files import (
    FilePart,
    read_run_file,
    replace_run_file,
    restore_files,
    store_part,
    stream_file,
)
from tacit.service.storage.runs import (
    add_members,
    add_trouble,
    add_warning,
    create_run,
    end_trouble,
    is_member,
    members_of,
    members_with_keys,
    read_member,
    read_run,
    runs_in_state,
    sealed_of,
    sealed_rows,
    set_agreement,
    set_lateness,
    set_progress,
    set_signature,
    set_state,
    set_submission_state,
    store_sealed,
)
from tacit.service.storage.series import (
    list_series,
    members_of_series,
    read_series_member,
    read_standing_series,
    runs_of_series,
)
