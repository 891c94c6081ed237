"""Commit events to a database from a process of its own.

`python -m tests.service.storage.committer URL RUN` adds a warning for each line that it reads.
"""

from __future__ import annotations

import sys

from tacit.service.storage import Database, add_warning


def main(url: str, run_id: str) -> None:
    """Say when the database is open, and after each commit."""
    database = Database(url)
    print("ready", flush=True)
    for line in sys.stdin:
        with database.writing() as session:
            add_warning(session, run_id, line.strip())
        print("committed", flush=True)
    database.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
