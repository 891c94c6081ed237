"""Write states, kinds, times and numbers as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from tacit.problems import unscaled_text

STATES = {
    "draft": ("Draft", "Nobody has been invited yet."),
    "invited": (
        "Invited",
        "Waiting until all have joined, pinned each other's keys and signed.",
    ),
    "agreed": ("Agreed", "All have signed. Waiting for their sealed costs."),
    "submitted": ("Ready", "All costs are in and checked. Waiting for free nodes."),
    "running": ("Running", "The nodes compute."),
    "finished": ("Finished", "The plan is below."),
    "interrupted": ("Interrupted", "It ended early. The best plan so far is kept."),
    "failed": ("Failed", "It ended without a plan."),
    "cancelled": ("Cancelled", "It will not go on."),
}
# The states of a run in which nothing goes wrong, in their order.
WAY = ("draft", "invited", "agreed", "submitted", "running", "finished")


def state_name(state: str, /) -> str:
    return STATES[state][0] if state in STATES else state


def state_meaning(state: str, /) -> str:
    return STATES[state][1] if state in STATES else ""


KINDS = {
    "assignment": "Assignment",
    "capacitated": "Assignment with capacities",
    "tour": "Tour",
    "routing": "Routing",
}


def kind_name(kind: str, /) -> str:
    return KINDS.get(kind, kind)


def disclosure_name(disclosure: str, /) -> str:
    """A disclosure in a word or two.

    >>> disclosure_name("none"), disclosure_name("top:15")
    ('every value', 'top:15')
    """
    return "every value" if disclosure == "none" else disclosure


def sentence(text: str, /) -> str:
    """Write a text as a sentence of its own.

    >>> sentence("the deadline came"), sentence("Why?")
    ('The deadline came.', 'Why?')
    """
    end = "" if text.endswith((".", "!", "?")) else "."
    return text[:1].upper() + text[1:] + end


def number(value: float | None, /) -> str:
    """Write a number as all texts of tacit do, with as few decimals as it needs.

    >>> number(1234567), number(12.5), number(None)
    ('1,234,567', '12.5', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.4g}"


def exact_number(value: int, scale: int, /) -> str:
    """Write a whole number of steps of 1/scale, with all its decimals.

    >>> exact_number(123_456_705, 100), exact_number(1000, 1), exact_number(5, 10)
    ('1,234,567.05', '1,000', '0.5')
    """
    whole, _, decimals = unscaled_text(value, scale).partition(".")
    return f"{int(whole):,}" + (f".{decimals}" if decimals else "")


def time_left(seconds: float, /) -> str:
    """A countdown.

    >>> time_left(75.2), time_left(4.4), time_left(3700), time_left(-1)
    ('1:15', '4 s', '1:01:40', '0 s')
    """
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def moment(seconds: float | None, /) -> str:
    if seconds is None:
        return "–"
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")


def ago(seconds: float, /) -> str:
    """How long ago something was.

    >>> ago(5), ago(90), ago(7300), ago(200_000)
    ('just now', '1 min ago', '2 h ago', '2 days ago')
    """
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86400:
        return f"{int(seconds // 3600)} h ago"
    days = int(seconds // 86400)
    return f"{days} day{'s' if days > 1 else ''} ago"
