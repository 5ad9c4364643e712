"""Acknowledging again what is settled: the broker says yes."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import plain_acks
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import Fate, Frame, Position
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _Asked:
    """An ACK that waits for its answer. `first`: the one that settled all of what it names before."""

    ack: Frame
    session: ConsumerSession
    first: Frame | None


class RepeatedAckAccepted(Check):
    """An individual ACK of whole entries, all of which ACKs named before on that subscription, and its ACK_RESPONSE.

    Only what asks for an answer shows anything: without one nobody hears from the broker, whatever it made of it.
    """

    requirement = RequirementId("ack.repeated-ack-accepted")
    needs = (frozenset({Setting("consumer", "ack_receipt"), (Frame, "ACK_RESPONSE")}),)

    def start(self) -> None:
        self._settled: dict[tuple[str, str], dict[Position, Frame]] = {}
        self._asked: dict[tuple[int, int], list[_Asked]] = {}

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not event.to_receiver:
            return
        settled = self._settled.setdefault((session.topic, session.subscription), {})
        whole = event.ack_type == "Individual" and plain_acks(event) and not any(event.ack_sets)
        before = [settled.get(id.position) for id in event.ids] if whole else []
        if event.request_id is not None:
            first = before[-1] if all(before) and before else None
            self._asked.setdefault((event.conn, event.request_id), []).append(_Asked(event, session, first))
        if whole:
            for id in event.ids:
                settled.setdefault(id.position, event)

    @on(Frame, "ACK_RESPONSE")
    def answered(self, event: Frame) -> None:
        waiting = self._asked.get((event.conn, event.request_id or 0))
        if not waiting or not event.from_sender or event.fate is Fate.INJECTED:
            return
        asked = waiting.pop(0)
        if asked.first is None or asked.session.ended is not None:
            return
        error = event.fields.get("error")
        if error is None:
            self.exercise(event)
            return
        self.breach(
            "refused",
            f"an ACK at {ms(asked.ack.t_ns)} named {', '.join(id.name for id in asked.ack.ids)} on subscription "
            f"{asked.session.subscription} of {asked.session.topic}, settled by {ms(asked.first.t_ns)}, and was "
            f"answered by {error} at {ms(event.t_ns)}; expected no error",
            asked.first,
            asked.ack,
            event,
        )
