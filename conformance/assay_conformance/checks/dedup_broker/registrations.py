"""Registrations of producers as a broker hears them: what is asked for again is answered as it was, without an id."""

from __future__ import annotations

from assay_conformance.model.event import Fate, Frame


class Registrations:
    """The PRODUCERs whose answers tell a last sequence id, and who is there already."""

    def __init__(self) -> None:
        self._asked: dict[tuple[int, int], Frame] = {}
        self._there: set[tuple[int, int]] = set()
        """Producers on a connection."""

    def ask(self, event: Frame) -> None:
        """A PRODUCER."""
        if not event.to_receiver or event.request_id is None:
            return
        if _producer(event) not in self._there and event.fate is not Fate.DUPLICATED:
            self._asked[event.conn, event.request_id] = event
        self._there.add(_producer(event))

    def close(self, event: Frame) -> None:
        """A CLOSE_PRODUCER."""
        if event.at_broker:
            self._there.discard(_producer(event))

    def refuse(self, event: Frame) -> None:
        """An ERROR: who comes again comes for the first time."""
        request = self.answered(event)
        if request is not None:
            self._there.discard(_producer(request))

    def answered(self, event: Frame) -> Frame | None:
        """The PRODUCER that this is the answer to, once; None where its answer tells nothing."""
        return self._asked.pop((event.conn, event.request_id or 0), None)


def _producer(event: Frame) -> tuple[int, int]:
    return event.conn, event.producer_id or 0
