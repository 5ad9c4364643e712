from __future__ import annotations

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Exercised, Handshake, Says, Timeline, breach, check, ms

CHECKSUM_SINCE = 6
"""Protocol version of a checksum in front of the metadata of a SEND."""


@check(
    "connection.no-checksum-to-old-broker",
    of=lambda timeline: timeline.handshakes.below(timeline.events, CHECKSUM_SINCE, "SEND"),
)
def no_checksum_to_old_broker(timeline: Timeline, written: tuple[Frame, Handshake]) -> Says:
    """connection.no-checksum-to-old-broker: a SEND to a broker whose protocol version has no checksum begins with the
    size of its metadata. Not judged where CONNECTED has no version."""
    send, handshake = written
    if "protocol_version" not in handshake.connected.fields:
        return
    if send.fields.get("checksum") is False:
        yield Exercised(send)
        return
    yield breach(
        "has-checksum",
        f"SEND {send.sequence_id} left on connection {send.conn} at {ms(send.t_ns)} with a checksum; expected none, "
        f"since client and broker agreed on protocol version {handshake.version}, and a checksum needs "
        f"{CHECKSUM_SINCE}",
        *(handshake.connected, send),
    )
