"""Reasons of its own that a client may have to end a connection: then nothing that came over it is to blame."""

from __future__ import annotations

from assay_conformance.checks.base import View
from assay_conformance.checks.tolerance import Tolerance
from assay_conformance.model.event import Closed, Fate, Fired, Frame
from assay_conformance.model.fault import Inject
from assay_conformance.pulsar.outcomes.errors import BUSY
from assay_conformance.wire import ProtocolError, decode

LEAVING = ("close", "crash", "exit")
"""Verbs after which a client may end its connections by itself."""

LOOKUPS = ("LOOKUP_RESPONSE", "PARTITIONED_METADATA_RESPONSE")
"""Answers to lookups."""


def is_busy(answer: Frame) -> bool:
    """Return whether one of `LOOKUPS` is a reason to end the connection it came over."""
    return answer.fields.get("error") in BUSY


DEFAULT_KEEP_ALIVE_MS = 30_000
"""Of clients that do not let us set it."""


def may_have_heard_nothing(view: View, closed: Closed) -> bool:
    """Return whether the client's keep-alive may have ended this connection because the machine held the client up.

    The answer to its PING stood in a queue of the bench, or in one of its own.
    """
    clients = (opening.args.get("config") for opening in view.tracker.foresight.clients.values())
    set_ms = [view.setting("client", "keep_alive_ms", own) for own in [None, *clients]]
    interval_ms = min((int(one) for one in set_ms if one), default=DEFAULT_KEEP_ALIVE_MS)
    interval = Tolerance(interval_ms, "a keep-alive counts the silence of one interval")
    # A PING leaves after one silent interval, and the client after a second one.
    return not view.tracker.load.quiet(closed.t_ns - 2 * interval.slack_ns, closed.t_ns, interval)


def is_readable(message: Frame) -> bool:
    """Return whether a MESSAGE holds what it was sent with; checks of their own judge what clients make of another."""
    meta = message.meta
    if meta is None or message.fate is Fate.ALTERED or meta.unpacked_bytes is not None:
        return False
    return bool(message.members) or meta.chunk_id is not None


def ends_reading(view: View, event: Fired) -> bool:
    """Return whether bytes that are no frame were put in: nothing after them can be read."""
    faults = view.case.faults
    action = faults[event.fault].action if event.fault < len(faults) else None
    return isinstance(action, Inject) and bool(action.raw) and not is_frame(action.raw)


def is_frame(raw: bytes) -> bool:
    try:
        decode(raw)
    except ProtocolError:
        return False
    return int.from_bytes(raw[:4], "big") == len(raw) - 4
