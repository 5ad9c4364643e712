"""The timeline's relations about answers to SENDs, and how certain it is which SEND each is for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from assay_conformance.judging.certainty import UnknownError
from assay_conformance.model.event import Event, Fate, Frame
from assay_conformance.pulsar.outcomes.errors import FINAL_ERRORS
from assay_conformance.pulsar.timeline.answers import Answer, answers
from assay_conformance.pulsar.timeline.in_flight import FirstSend, first_sends
from assay_conformance.pulsar.timeline.producers import Producer
from assay_conformance.pulsar.timeline.producing import UNSURE
from assay_conformance.pulsar.timeline.sending import Sending


class Answering(Sending):
    """The part of a timeline about answers to SENDs."""

    @cached_property
    def answers(self) -> list[Answer]:
        """All answers but receipts for the oldest unanswered unit."""
        return answers(self.view)

    def first_sends(self, *handles: int) -> Iterator[FirstSend]:
        """Yield every unit of these producers as it is sent for the first time, with what is in flight then."""
        return first_sends(self._tracker, self.answers, handles)

    @cached_property
    def _out_of_turn(self) -> frozenset[int]:
        return frozenset(answer.frame.seq for answer in self.answers)

    def is_in_turn(self, receipt: Frame) -> bool:
        """Return whether it was for the oldest unanswered unit."""
        return receipt.seq not in self._out_of_turn

    @cached_property
    def ended_by_brokers(self) -> dict[int | None, Frame]:
        """Handle of a producer -> the first answer that ended it; with partitions, the producer of one of them."""
        found: dict[int | None, Frame] = {}
        for answer in self.answers:
            if answer.frame.fields.get("error") in FINAL_ERRORS:
                found.setdefault(answer.handle, answer.frame)
        return found

    def is_open(self, handle: int | None, at: Event) -> bool:
        """Return whether a producer had opened by an event, and neither the application nor its broker had ended it."""
        opened = self.opened_producers.get(-1 if handle is None else handle)
        ends = (self.closing(handle), self.ended_by_brokers.get(handle))
        is_over = any(end is not None and end.seq < at.seq for end in ends)
        return opened is not None and opened.seq < at.seq and not is_over

    @cached_property
    def _receipted(self) -> dict[int, set[int | None]]:
        found: dict[int, set[int | None]] = {}
        for answer in self.answers:
            if answer.unit is not None:
                found.setdefault(answer.frame.conn, set()).add(answer.handle)
        for producer in self.producers:
            for unit in producer.units:
                for receipt in unit.receipts:
                    found.setdefault(receipt.conn, set()).add(producer.handle)
        return found

    def receipted_on(self, conn: int) -> set[int | None]:
        """Return the handles of the producers that were sent a receipt over this connection."""
        return self._receipted.get(conn, set())

    @cached_property
    def _first_moved_receipt(self) -> dict[int, Frame]:
        """Connection -> the first receipt that came to the client as a fault made it come."""
        receipts = reversed(self.events.frames("SEND_RECEIPT"))
        return {one.conn: one for one in receipts if one.to_receiver and one.fate is not Fate.PASSED}

    def handle(self, producer: Producer) -> int:
        """Return the handle of a producer.

        Raises `UnknownError` where its sessions may be those of any of several.
        """
        if producer.handle is None:
            raise UnknownError(UNSURE)
        return producer.handle

    def owner(self, producer: Producer) -> int:
        """Return the handle of a producer of which every session is known.

        Raises `UnknownError` where one of another may be its own.
        """
        self.check_sessions(producer)
        return self.handle(producer)

    def check_sessions(self, producer: Producer) -> None:
        """Raise `UnknownError` where the owner of a session that may be this producer's is not known."""
        self.check_owned(producer.handle)

    def check_pairing(self, *handles: int | None) -> None:
        """Raise `UnknownError` if it is not known which receipt answers which SEND of these producers."""
        if not self._tracker.lines.unpaired.isdisjoint(handles):
            raise UnknownError("ids were reused, or a fault tore the stream: it is unknown which SEND a receipt is for")

    def check_receipts(self, handle: int, at: Event) -> None:
        """Raise `UnknownError` if it is not known which SENDs of a producer had their receipt at an event."""
        self.check_forged_answers(at, handle)
        since = (self._tracker.lines.reused_since.get(handle), self._tracker.lines.torn_since.get(handle))
        if any(seq is not None and seq <= at.seq for seq in since):
            raise UnknownError("ids were reused, or a fault tore the stream: it is unknown which SEND a receipt is for")

    def check_forged_answers(self, at: Event, *handles: int | None) -> None:
        """Raise `UnknownError` if a fault had altered or forged an answer to a SEND of these producers by an event."""
        if any(forged.seq <= at.seq for forged in self._forged_answers(*handles)):
            raise UnknownError("a fault altered or made up an answer to a SEND")

    def had_forged_answers(self, handle: int) -> bool:
        """Return whether a fault altered or forged an answer to a SEND of this producer."""
        return any(True for _ in self._forged_answers(handle))

    def _forged_answers(self, *handles: int | None) -> Iterator[Frame]:
        """Yield the first answer of each session that may be these producers'."""
        lines = self._tracker.lines
        for line, forged in lines.forged_answers.items():
            owner = None if line is None else line.handle
            if owner is None or owner in handles or owner in lines.foresight.unsure:
                yield forged

    def check_untorn(self, handle: int, at: Event) -> None:
        """Raise `UnknownError` where a fault had torn the stream of a producer's SENDs by an event."""
        since = self._tracker.lines.torn_since.get(handle)
        if since is not None and since <= at.seq:
            raise UnknownError("a fault tore the stream of SENDs: it is unknown what the client still holds")

    def check_whole(self, handle: int) -> None:
        """Raise `UnknownError` where a session of this producer may be another's, or a fault tore or changed its
        stream."""
        lines = self._tracker.lines
        if handle in lines.foresight.unsure | lines.torn_sends | lines.forged_sends:
            raise UnknownError("a fault tore the stream of SENDs, or a session may be another producer's")

    def check_untampered(self, *handles: int | None) -> None:
        """Raise `UnknownError` if a fault altered or forged a SEND of these producers."""
        if not self._tracker.lines.forged_sends.isdisjoint(handles):
            raise UnknownError("a fault changed a SEND: what was receipted is not what was sent")
