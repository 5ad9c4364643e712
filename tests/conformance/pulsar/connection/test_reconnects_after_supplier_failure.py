"""The check of `connection.reconnects-after-supplier-failure`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.connection._supplied import Supplied, case

from assay_conformance.model.event import ErrorClass, Fate
from assay_conformance.pulsar.checks.connection.reconnects_after_supplier_failure import (
    reconnects_after_supplier_failure,
)

FAILS = case("token:first,raise,token:second")


def story() -> Supplied:
    """The connection of an open producer is cut."""
    history = Supplied()
    history.producer()
    history.at(100).cut()
    return history


def test_producer_that_comes_back_is_accepted() -> None:
    history = story()
    history.at(900).producer_again()
    assert judged(reconnects_after_supplier_failure, history, FAILS) == ([], 1)


def test_producer_that_gives_up_is_found() -> None:
    assert judged(reconnects_after_supplier_failure, story().at(12_000), FAILS)[0] == ["gave-up"]


def test_producer_that_was_closed_meanwhile_need_not_come_back() -> None:
    history = story()
    history.at(200).invoke("close", 1)
    assert judged(reconnects_after_supplier_failure, history.at(12_000), FAILS) == ([], 0)


def test_producer_that_its_broker_ended_before_need_not_come_back() -> None:
    history = Supplied()
    history.producer()
    history.send(0)
    sent = history.send_frame(0)
    history.down("SEND_ERROR", producer_id=0, sequence_id=sent.sequence_id, fields={"error": "TopicTerminatedError"})
    history.at(100).cut()
    assert judged(reconnects_after_supplier_failure, history.at(12_000), FAILS) == ([], 0)


def test_supplier_that_always_fails_says_nothing() -> None:
    assert judged(reconnects_after_supplier_failure, story().at(12_000), case("token:first,raise")) == ([], 0)


def test_send_that_fails_in_place_of_waiting_is_found() -> None:
    history = story()
    history.send(0)
    history.fail(0, ErrorClass.AUTH)
    assert judged(reconnects_after_supplier_failure, history, FAILS)[0] == ["gave-up"]


def test_producer_whose_handshake_lost_its_answer_has_not_given_up() -> None:
    history = story()
    history.at(200).opened(1)
    history.up("CONNECT", 1)
    history.down("CONNECTED", 1, fate=Fate.DROPPED)
    assert judged(reconnects_after_supplier_failure, history.at(8_000), FAILS)[0] == []
