"""How far a reader is, and where it begins when it comes back."""

from __future__ import annotations

import pytest
from tests.conformance.client.peer import CONSUMER, C, Peer

from assay_conformance.client import Failed
from assay_conformance.client.consumer import LAST_ID_SINCE
from assay_conformance.client.reader import LATEST_ID, ReadingPlace
from assay_conformance.client.seeking import Place
from assay_conformance.client.settings import InitialPosition
from assay_conformance.wire import NO_ID


@pytest.mark.parametrize(("begins", "end"), [(InitialPosition.EARLIEST, NO_ID), (InitialPosition.LATEST, LATEST_ID)])
def test_new_reader_begins_at_an_end_of_the_topic(begins: InitialPosition, end: int) -> None:
    start = ReadingPlace(begins).start
    assert (start.ledgerId, start.entryId) == (end, end)


def test_reader_that_comes_back_names_the_message_it_had_last() -> None:
    place = ReadingPlace(InitialPosition.EARLIEST)
    place.handed_over((3, 7), 1)
    assert (place.start.ledgerId, place.start.entryId, place.start.batch_index) == (3, 7, 1)


@pytest.mark.parametrize(
    ("position", "index", "passes"),
    [((3, 6), None, False), ((3, 7), 0, False), ((3, 7), 1, False), ((3, 7), 2, True), ((3, 8), None, True)],
)
def test_reader_passes_over_what_it_had(position: tuple[int, int], index: int | None, passes: bool) -> None:
    place = ReadingPlace(InitialPosition.EARLIEST)
    place.handed_over((3, 7), 1)
    assert place.passes(position, index) is passes


def test_reader_that_takes_what_it_names_reads_what_it_sought_once() -> None:
    place = ReadingPlace(InitialPosition.EARLIEST, inclusive=True).moved(Place(((1, 2),)))
    assert place.passes((1, 2), None)
    place.handed_over((1, 2), None)
    assert not place.passes((1, 2), None)


@pytest.mark.parametrize(("version", "asks"), [(LAST_ID_SINCE - 1, 0), (LAST_ID_SINCE, 1)])
def test_broker_is_asked_for_its_last_message_if_it_knows_the_question(version: int, asks: int) -> None:
    peer = Peer()
    peer.protocol_version = version
    peer.open_consumer(durable=False)
    op = peer.next_op()
    peer.core.has_message_available(op, CONSUMER, peer.now_ns)
    peer.run()
    assert len(peer.written(C.GET_LAST_MESSAGE_ID)) == asks
    assert isinstance(peer.results.get(op), Failed) is (not asks)
