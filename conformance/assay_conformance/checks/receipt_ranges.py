"""Receipts of batches by their range: the highest id they name."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.leaving import LeavingCheck
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.model.event import Closed, ClosedBy, Fate, Fired, Frame
from assay_conformance.model.requirement import RequirementId


class ChecksHighest(LeavingCheck):
    """Behind a receipt that was altered to another highest id the batch leaves once more; or it was taken as it is.

    A client that gave the connection up has not taken it, whether or not it comes to send again.
    """

    requirement = RequirementId("resend.checks-highest-sequence-id")
    needs = (Trait.ALTERED,)

    def start(self) -> None:
        self._told: list[tuple[Unit, Frame]] = []
        self._given_up: set[int] = set()
        self._cut: dict[int, Fired] = {}
        """Connection -> the fault that ends it, or swallows what it carries until then."""

    @on(Fired)
    def fired(self, event: Fired) -> None:
        if event.action == "cut" and event.conn is not None:
            self._cut.setdefault(event.conn, event)

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        unit, told = self.tracker.lines.unit, event.highest_sequence_id or 0
        if unit is None or event.fate is not Fate.ALTERED or not event.to_receiver or unit.first.meta is None:
            return
        if unit.receipts[:1] != (event,):
            return  # Sent twice, it has its receipt: this one is late news.
        if unit.given_up or (not unit.numbers and self.tracker.foresight.failed_sends.get(unit.line.handle or 0)):
            return  # Its sends have timed out, as far as anybody knows: there is nothing left to send again.
        # Whether its SEND tells it, or not, is another clause: a client knows what it has batched.
        ids = [member.sequence_id for member in unit.first.members if member.sequence_id is not None]
        if len(ids) > 1 and event.sequence_id == unit.sequence_id < told != max(ids):
            self._told.append((unit, event))

    @on(Closed)
    def connection_closed(self, event: Closed) -> None:
        if event.by is ClosedBy.CLIENT and not self.leaving:
            self._given_up.add(event.conn)

    def finish(self) -> None:
        for unit, receipt in self._told:
            again = any(send.seq > receipt.seq for _, send in unit.sends)
            given_up = receipt.conn in self._given_up or self._is_left_at_once(receipt)
            if not again and not given_up and self._is_too_late(unit, receipt):
                continue
            self.exercise(receipt)
            if not again and not given_up:
                self.breach(
                    "taken",
                    f"{unit.line}: the receipt at {ms(receipt.t_ns)} goes up to {receipt.highest_sequence_id}, and the "
                    f"batch it was taken for begins with {unit.sequence_id}; nothing was sent again",
                    unit.first,
                    receipt,
                )

    def _is_left_at_once(self, receipt: Frame) -> bool:
        """Over it, whatever else the application was ending just then."""
        closed = self.tracker.closed.get(receipt.conn)
        return closed is not None and closed.by is ClosedBy.CLIENT and closed.t_ns <= receipt.t_ns + IN_FLIGHT_NS

    def _is_too_late(self, unit: Unit, receipt: Frame) -> bool:
        """Somebody else ended its connection as it came, or its producer was closing."""
        closed, closing = self.tracker.closed.get(receipt.conn), unit.line.closing
        cut, in_time_ns = self._cut.get(receipt.conn), receipt.t_ns + IN_FLIGHT_NS
        ended = closed is not None and closed.by is not ClosedBy.CLIENT and closed.t_ns <= in_time_ns
        swallowed = cut is not None and cut.t_ns <= in_time_ns
        return ended or swallowed or (closing is not None and closing.seq < receipt.seq)
