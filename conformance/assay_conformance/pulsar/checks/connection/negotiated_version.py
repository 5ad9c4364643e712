"""connection.negotiated-version"""

from __future__ import annotations

from assay_conformance.checks.agreed import VersionCheck
from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.connection._versions import COMMANDS_SINCE, RECEIPTS_SINCE, SEVERAL_IDS_SINCE


class NegotiatedVersion(VersionCheck):
    """A connection uses nothing of a protocol version above the lower one of client and broker."""

    requirement = RequirementId("connection.negotiated-version")
    skips_plain = True

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        version, _ = self.agreed.get(event.conn, (RECEIPTS_SINCE, event))
        if not from_client(event) or version >= RECEIPTS_SINCE:
            return
        if event.request_id is not None:
            self._too_new(event, "an ACK with a request id", RECEIPTS_SINCE, "asks-for-receipt")
        elif len(event.ids) > 1 and version < SEVERAL_IDS_SINCE:
            self._too_new(event, f"an ACK with {len(event.ids)} ids", SEVERAL_IDS_SINCE, "several-ids")
        else:
            self.exercise(event)

    @on(Frame, *COMMANDS_SINCE)
    def command(self, event: Frame) -> None:
        since = COMMANDS_SINCE[event.command]
        if from_client(event) and event.conn in self.agreed and self.agreed[event.conn][0] < since:
            self._too_new(event, event.command, since, "unknown-command")

    def _too_new(self, event: Frame, what: str, since: int, code: str) -> None:
        version, agreed = self.agreed[event.conn]
        self.breach(
            code,
            f"{what} left on connection {event.conn} at {ms(event.t_ns)}; it needs protocol version {since}; client "
            f"and broker agreed on {version}",
            agreed,
            event,
        )
