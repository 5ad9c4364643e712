"""A consumer of a pattern: who keeps watch for it."""

from __future__ import annotations

from tests.conformance.client.peer import CONSUMER, Peer

from assay_conformance.wire import CommandType as C

PATTERN = "persistent://public/default/t.*"
RECONNECT_MS = 200


def _watching() -> Peer:
    peer = Peer()
    peer.open_pattern(PATTERN)
    return peer


def test_a_broker_is_asked_to_keep_watch() -> None:
    assert len(_watching().written(C.WATCH_TOPIC_LIST)) == 1


def test_the_next_one_is_asked_when_its_connection_is_lost() -> None:
    peer = _watching()
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert len(peer.written(C.WATCH_TOPIC_LIST)) == 2


def test_so_is_one_when_the_connection_is_lost_before_the_answer() -> None:
    peer = Peer()
    peer.silent.add(C.WATCH_TOPIC_LIST)
    peer.open_pattern(PATTERN)
    peer.silent.clear()
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert len(peer.written(C.WATCH_TOPIC_LIST)) == 2


def test_a_closed_consumer_asks_nobody() -> None:
    peer = _watching()
    peer.close_handle(CONSUMER)
    peer.cut()
    peer.advance(RECONNECT_MS)
    assert len(peer.written(C.WATCH_TOPIC_LIST)) == 1
