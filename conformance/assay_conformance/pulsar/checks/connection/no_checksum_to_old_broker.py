"""connection.no-checksum-to-old-broker"""

from __future__ import annotations

from assay_conformance.checks.agreed import VersionCheck
from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId

CHECKSUM_SINCE = 6
"""A checksum in front of the metadata of a SEND."""


class NoChecksumToOldBroker(VersionCheck):
    """A SEND to a broker that knows no checksum begins with the size of its metadata. Whoever says no version is not
    judged."""

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
            f"SEND {event.sequence_id} left on connection {event.conn} at {ms(event.t_ns)} with a checksum; client and "
            f"broker agreed on protocol version {version}, which is older than {CHECKSUM_SINCE}",
            agreed,
            event,
        )
