"""Mail over SMTP, with what the platform's file says about the server."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Any

from tacit.client import tls_context
from tacit.files import check_secret, read_text
from tacit.service.notices.kinds import sentence
from tacit.service.notices.webhooks import UndeliveredError
from tacit.service.server.settings import MailSettings, Settings

SEND_SECONDS = 20.0


def message_about(
    kind: str, data: dict[str, Any], /, *, to: str, settings: Settings, mail: MailSettings
) -> EmailMessage:
    """A notice as a message."""
    said = sentence(kind, data)
    message = EmailMessage()
    message["From"], message["To"] = mail.sender, to
    message["Subject"] = f"tacit: {said}"
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=mail.sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(f"{said[0].upper()}{said[1:]}.\n\n{settings.url}\n")
    return message


def send_mail(message: EmailMessage, settings: Settings, mail: MailSettings, /) -> None:
    """Hand a message to the server, or an `UndeliveredError` that says why it did not take it."""
    context = tls_context(None if mail.ca is None else settings.place(mail.ca))
    try:
        with _connected(mail, context) as server:
            if mail.security == "starttls":
                server.starttls(context=context)
            if mail.user is not None and mail.password_file is not None:
                path = settings.place(mail.password_file)
                check_secret(path, remedy="chmod 600 it")
                server.login(mail.user, read_text(path).strip())
            server.send_message(message)
    except (smtplib.SMTPException, OSError) as error:
        raise UndeliveredError(f"{type(error).__name__}: {error}"[:200]) from None


def _connected(mail: MailSettings, context: ssl.SSLContext) -> smtplib.SMTP:
    if mail.security == "tls":
        return smtplib.SMTP_SSL(mail.host, mail.port, timeout=SEND_SECONDS, context=context)
    return smtplib.SMTP(mail.host, mail.port, timeout=SEND_SECONDS)
