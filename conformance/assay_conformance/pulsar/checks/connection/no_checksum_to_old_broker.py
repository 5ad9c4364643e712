"""connection.no-checksum-to-old-broker"""

from __future__ import annotations

from assay_conformance.checks.agreed import VersionCheck
from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId

CHECKSUM_SINCE = 6
"""Protocol version of a checksum in front of the metadata of a SEND."""


class NoChecksumToOldBroker(VersionCheck):
    """A SEND to a broker whose protocol version has no checksum begins with the size of its metadata. Not judged where
    CONNECTED has no version."""

    requirement = RequirementId("connection.no-checksum-to-old-broker")
    skips_plain = True

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        version, agreed = self.agreed.get(event.conn, (CHECKSUM_SINCE, event))
        if not from_client(event) or version >= CHECKSUM_SINCE or "protocol_version" not in agreed.fields:
            return
        if event.fields.get("checksum") is False:
            self.exercise(event)
            return
        self.breach(
            "has-checksum",
            f"SEND {event.sequence_id} left on connection {event.conn} at {ms(event.t_ns)} with a checksum; expected "
            f"none, since client and broker agreed on protocol version {version}, and a checksum needs "
            f"{CHECKSUM_SINCE}",
            agreed,
            event,
        )
