"""Make notices of events, and deliver each until it has arrived or is given up.

An event is stored with the change that it is about, in one transaction. Its notices are stored
with the cursor that says up to which event there are notices, in another. So a crash at any point
loses none. One that was just delivered may come again, under the same number.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from tacit.client import ClusterView
from tacit.errors import TacitError
from tacit.service.notices.delivery import (
    NOT_DELIVERED,
    UndeliveredError,
    call_webhook,
    message_about,
    send_mail,
    trusted_authorities,
    webhook_key,
    webhook_secret,
)
from tacit.service.server.settings import Settings
from tacit.service.storage import (
    Account,
    Database,
    Event,
    Member,
    Notice,
    Webhook,
    members_of,
    workers_seen,
)
from tacit.service.storage.accounts import (
    TEST,
    add_notice,
    contact_of,
    drop_old_notices,
    due_notices,
    events_are_read,
    lock_cursor,
    unread_events,
)
from tacit.supervisor import Supervisor

LOOK_EVERY_SECONDS = 1.0
BATCH = 200
AT_ONCE = 8
DELIVERY_SECONDS = 120.0
"""Longer than any delivery takes."""
MISSING_SECONDS = 30.0
"""A node that does not answer for so long is missing."""
PAUSES_SECONDS = (10.0, 60.0, 300.0, 1800.0, 7200.0, 21_600.0, 43_200.0, 86_400.0)
"""Before each next attempt; after the last a notice is given up."""
SENTENCES = {
    "invited": "you are invited to run {run}; join with the invitation that its operator gives you",
    "to_sign": "the agreement of run {run} is drawn up; review and sign it",
    "all_signed": "everybody has signed run {run}; it waits for inputs",
    "inputs_needed": "everybody has signed run {run}; submit your inputs",
    "inputs_refused": "the nodes refused your inputs for run {run}; correct and submit them again",
    "interrupted": "run {run} is interrupted; resume it",
    "finished": "run {run} is finished; fetch the result",
    "failed": "run {run} has failed; see why",
    "cancelled": "run {run} was cancelled; see why",
    "node_missing": "node {node} of cluster {cluster} does not answer",
    "node_back": "node {node} of cluster {cluster} answers again",
    TEST: "this is a test; messages about your runs arrive here",
}
"""By kind of notice. There are no names, terms, costs, plans, values or reasons in it: mail and
webhooks pass through the hands of others."""
WATCHED = ("state", "member")
"""The kinds of events that notices are made of."""
log = logging.getLogger("tacit.service.notices")


def recipients(
    event: Event, members: Sequence[Member], operators: Sequence[str], /
) -> Iterator[tuple[str, str]]:
    """Yield each account that an event asks something of, with the kind of its notice.

    >>> agreed = Event(kind="state", data={"state": "agreed"})
    >>> list(recipients(agreed, [Member(participant="north")], ["ops"]))
    [('north', 'inputs_needed'), ('ops', 'all_signed')]
    """
    if event.kind == "member":
        if event.data.get("submission_state") == "refused":
            yield str(event.data["participant"]), "inputs_refused"
        return
    state, names = event.data.get("state"), [each.participant for each in members]
    if state == "invited" and "agreement_hash" in event.data:
        yield from ((each.participant, "to_sign") for each in members if each.signature is None)
    elif state == "invited":
        yield from ((name, "invited") for name in names)
    elif state == "agreed":
        yield from ((name, "inputs_needed") for name in names)
        yield from ((name, "all_signed") for name in operators)
    elif state == "interrupted":
        yield from ((name, "interrupted") for name in operators)
    elif state in ("finished", "failed", "cancelled"):
        yield from ((name, str(state)) for name in (*names, *operators))


def make_notices(session: Session, /) -> int:
    """Make notices of the next events, and return how many events that were."""
    lock_cursor(session)
    events = unread_events(session, WATCHED, limit=BATCH)
    operators = _operators(session)
    for event in events:
        for account, kind in recipients(event, members_of(session, event.run), operators):
            add_notice(session, account, kind, event.at, {"run": event.run})
    if events:
        events_are_read(session, events[-1].id)
    return len(events)


def _operators(session: Session) -> list[str]:
    return list(session.scalars(select(Account.name).where(Account.role == "operator")))


def _address(session: Session, notice: Notice) -> tuple[str | None, str | None]:
    """Return the webhook's or the mail address of a notice as it is now, after any change."""
    if notice.webhook is None:
        return None, contact_of(session, notice.account)
    webhook = session.get(Webhook, notice.webhook)
    return (None if webhook is None else webhook.url), None


def _claimed(session: Session, now: float) -> list[tuple[Notice, str | None, str | None]]:
    """What is due, from now on not for others; if this process dies it is due again."""
    due = due_notices(session, now, limit=AT_ONCE)
    for notice in due:
        notice.next_at = now + DELIVERY_SECONDS
    return [(notice, *_address(session, notice)) for notice in due]


def _store_attempt(
    session: Session, notice_id: int, error: str | None, shown: str | None, now: float
) -> None:
    notice = session.get(Notice, notice_id)
    if notice is None:
        return  # its webhook was removed meanwhile
    notice.attempts += 1
    notice.error, notice.sent = error, now if error is None else None
    # Whoever tests wants to know now, and tests again after a correction.
    given_up = notice.attempts > len(PAUSES_SECONDS) or notice.kind == TEST
    pause = None if error is None or given_up else PAUSES_SECONDS[notice.attempts - 1]
    notice.next_at = None if pause is None else now + pause
    if notice.webhook is not None and (webhook := session.get(Webhook, notice.webhook)):
        webhook.error = shown


class Notifier:
    """Makes and delivers the notices of one service."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        clusters: Callable[[], list[ClusterView]],
        /,
        *,
        name: str | None = None,
    ) -> None:
        """`name` is that of this process, where several watch the nodes."""
        self._name = name
        self._settings, self._database, self._clusters = settings, database, clusters
        self._missing: dict[tuple[str, str], float] = {}
        """Per cluster and node, since when it does not answer; infinity once it was announced."""
        self._trusted: ssl.SSLContext | None = None
        """Loaded with the first call of a webhook."""

    def start(self, tasks: Supervisor, /) -> None:
        """Look every second for what to deliver, and for nodes that are missing."""
        tasks.every(LOOK_EVERY_SECONDS, "notices", lambda: self.poll(time.time()))
        tasks.every(LOOK_EVERY_SECONDS, "missing nodes", lambda: self.watch_nodes(time.time()))

    async def poll(self, now: float, /) -> int:
        """Make notices of new events and deliver what is due; return how many were tried."""
        while await self._database.read(unread_events, WATCHED, limit=1):
            await self._database.write(make_notices)
        tried = 0
        # `now` stays the same: the next attempt of a failed notice lies after it, so this loop
        # ends.
        while due := await self._claim(now):
            await asyncio.gather(*(self._deliver(*each, now=now) for each in due))
            tried += len(due)
        if tried:
            await self._database.write(drop_old_notices, now)
        return tried

    async def _claim(self, now: float) -> list[tuple[Notice, str | None, str | None]]:
        # Most of the time nothing is due, and others wait to write.
        if not await self._database.read(due_notices, now, limit=1):
            return []
        return await self._database.write(_claimed, now)

    async def watch_nodes(self, now: float, /) -> None:
        """Make notices of nodes that are missing, and of those that are back."""
        for cluster in self._clusters():
            for node in cluster.nodes:
                name = f"{node.host}:{node.port}"
                key = cluster.name, name
                if node.reachable:
                    # Only a node that was announced as missing is announced as back.
                    if self._missing.pop(key, None) == float("inf"):
                        await self._notify_operators("node_back", now, *key)
                    continue
                since = self._missing.setdefault(key, now)
                if now - since >= MISSING_SECONDS:
                    self._missing[key] = float("inf")
                    await self._notify_operators("node_missing", now, *key)

    async def _notify_operators(self, kind: str, now: float, cluster: str, node: str) -> None:
        def write(session: Session) -> None:
            # All processes see it, and one says so.
            if self._name not in (None, *(each.name for each in workers_seen(session)[:1])):
                return
            for name in _operators(session):
                add_notice(session, name, kind, now, {"cluster": cluster, "node": node})

        await self._database.write(write)

    async def _deliver(
        self, notice: Notice, url: str | None, mail: str | None, /, *, now: float
    ) -> None:
        # The attempt is stored after the delivery. A crash in between repeats the delivery under
        # the same number, by which a receiver recognizes it; the other order would lose it.
        error = shown = None
        try:
            if url is not None:
                await self._call(notice, url)
            elif mail is not None:
                await self._mail(notice, mail)
            # Otherwise the account wants to hear no more.
        except UndeliveredError as failed:
            error, shown = str(failed), failed.shown
        except TacitError as failed:
            error, shown = f"the platform's own settings: {failed}", NOT_DELIVERED
            log.error(error, extra={"fields": {"notice": notice.id}})
        except Exception:  # whatever it is, it counts as an attempt and holds up no other
            error, shown = "it failed within the platform; see its log", NOT_DELIVERED
            log.exception(error, extra={"fields": {"notice": notice.id}})
        if error is not None:
            fields = {"notice": notice.id, "kind": notice.kind, "what": error}
            log.warning("a notice was not delivered", extra={"fields": fields})
        await self._database.write(_store_attempt, notice.id, error, shown, now)

    async def _call(self, notice: Notice, url: str) -> None:
        key = await asyncio.to_thread(webhook_key, self._settings)
        if self._trusted is None:
            own = self._settings.webhooks_ca
            path = None if own is None else self._settings.place(own)
            self._trusted = await asyncio.to_thread(trusted_authorities, path)
        body = {"id": notice.id, "kind": notice.kind, "at": round(notice.at, 3), **notice.data}
        await call_webhook(
            url,
            {**body, "platform": self._settings.url},
            secret=webhook_secret(key, str(notice.webhook)),
            to_private=self._settings.webhooks_to_private_addresses,
            trusted=self._trusted,
        )

    async def _mail(self, notice: Notice, to: str) -> None:
        mail = self._settings.mail
        if mail is None:
            return  # it was configured once, and is not any more
        text = SENTENCES[notice.kind].format(**notice.data)
        message = message_about(text, to=to, settings=self._settings, mail=mail)
        await asyncio.to_thread(send_mail, message, self._settings, mail)
