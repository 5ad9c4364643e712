from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.connection._versions import (
    COMMANDS_BY_FLAG,
    COMMANDS_SINCE,
    RECEIPTS_SINCE,
    SEVERAL_IDS_SINCE,
    offers,
)
from assay_conformance.pulsar.timeline import Exercised, Handshake, Says, Timeline, breach, check, ms


class _Needs(NamedTuple):
    """The protocol version that a command needs; `what` of it does, and the code of a breach."""

    since: int
    what: str
    code: str


def _needs(frame: Frame) -> _Needs:
    if frame.command in COMMANDS_SINCE:
        return _Needs(COMMANDS_SINCE[frame.command], frame.command, "unknown-command")
    if frame.request_id is not None:
        return _Needs(RECEIPTS_SINCE, "an ACK with a request id", "asks-for-receipt")
    return _Needs(SEVERAL_IDS_SINCE if len(frame.ids) > 1 else 0, f"an ACK with {len(frame.ids)} ids", "several-ids")


_NEWEST = max(RECEIPTS_SINCE, *COMMANDS_SINCE.values())


def _concerned(timeline: Timeline) -> Iterator[tuple[Frame, Handshake]]:
    yield from timeline.handshakes.below(timeline.events, _NEWEST, "ACK", *COMMANDS_SINCE)
    for frame in timeline.events.frames(*COMMANDS_BY_FLAG):
        handshake = timeline.handshakes.of(frame)
        if frame.from_sender and handshake is not None:
            yield frame, handshake


@check("connection.negotiated-version", of=_concerned)
def negotiated_version(timeline: Timeline, written: tuple[Frame, Handshake]) -> Says:
    """connection.negotiated-version: a connection uses nothing of a protocol version above the lower one of client and
    broker, and no command that a feature flag offers where the broker has not set it."""
    frame, handshake = written
    if frame.command in COMMANDS_BY_FLAG:
        if not offers(handshake.connected, frame.command):
            yield breach(
                "not-offered",
                f"{frame.command} left on connection {frame.conn} at {ms(frame.t_ns)}; expected none, since its "
                f"broker had not set {COMMANDS_BY_FLAG[frame.command]}",
                *(handshake.connected, frame),
            )
        return
    needs, version = _needs(frame), handshake.version
    if version < needs.since:
        yield breach(
            needs.code,
            f"{needs.what} left on connection {frame.conn} at {ms(frame.t_ns)}; expected none: it needs protocol "
            f"version {needs.since}, and client and broker agreed on {version}",
            *(handshake.connected, frame),
        )
    elif frame.command == "ACK" and version < RECEIPTS_SINCE:
        yield Exercised(frame)
