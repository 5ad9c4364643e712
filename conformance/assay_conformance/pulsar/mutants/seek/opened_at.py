"""Readers that begin elsewhere than at the message id that they are opened at."""

from __future__ import annotations

from dataclasses import replace

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Entry, Opened
from assay_conformance.client.handed import Inbound
from assay_conformance.client.reader import ReadingPlace
from assay_conformance.client.seeking import Place


class ReaderOpensAtWholeEntry(Consumer):
    """A reader that is opened inside a batch starts after the whole batch."""

    breaks = "seek.reader-starts-at-id"
    stands_for = "apache/pulsar#6345: a start inside a batch, of which the index is left out"

    def begin_at(self, place: Place) -> None:
        super().begin_at(place if place.index is None else replace(place, index=place.size - 1))


class ReaderOpensAtStartOfBatch(Consumer):
    """A reader that is opened inside a batch starts with the first message of the batch."""

    breaks = "seek.reader-starts-at-id"
    stands_for = "the filter of what lies before the start applied after a seek, and not when a reader opens"

    _begun: Place | None = None

    def begin_at(self, place: Place) -> None:
        super().begin_at(place)
        self._begun = place if place.index is not None else None

    def _is_behind_start(self, entry: Entry, message: Opened) -> bool:
        is_begun = self._begun is not None and entry.position == self._begun.positions[-1]
        return is_begun or super()._is_behind_start(entry, message)


class ReaderForgetsIdItOpensAt(Consumer):
    """A reader whose connection is lost before it has read anything starts at an end of its topic."""

    breaks = "seek.reader-starts-at-id"
    stands_for = "a start message id that is cleared when the first SUBSCRIBE is answered"
    _received_any = False

    def _has_read(self, reading: ReadingPlace, inbound: Inbound) -> None:
        self._received_any = True
        super()._has_read(reading, inbound)

    def _lost(self) -> None:
        super()._lost()
        if self._reading is not None and not self._received_any:
            self._reading = ReadingPlace(self._settings.initial_position)
