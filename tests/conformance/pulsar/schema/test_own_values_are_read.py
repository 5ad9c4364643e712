"""The check of `schema.own-values-are-read`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.schema._typed import FIRST, SECOND, Typed

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.schema.own_values_are_read import own_values_are_read


class _Story(Typed):
    """A value of the first version is handed to a consumer."""

    def __init__(self, own: str = FIRST) -> None:
        super().__init__()
        self.opens_producer(FIRST)
        self.opens_consumer(own)
        self.holds(FIRST)

    def fails(self, answered: str | None = FIRST) -> None:
        call = self.invoke("value", CONSUMER, args={"consumer": CONSUMER, "messages": [1]})
        self.asks(FIRST, answered)
        self.complete(call, Outcome.FAIL, error=ErrorClass.OTHER)


def test_value_of_the_own_schema_that_is_read_is_right() -> None:
    history = _Story()
    history.reads()
    assert judged(own_values_are_read, history) == ([], 1)


def test_value_of_the_own_schema_that_cannot_be_read_is_found() -> None:
    history = _Story()
    history.fails()
    assert judged(own_values_are_read, history) == (["not-read"], 1)


def test_value_of_another_schema_is_not_judged() -> None:
    history = _Story(own=SECOND)
    history.fails()
    assert judged(own_values_are_read, history) == ([], 0)


def test_value_of_a_message_that_was_acknowledged_is_not_judged() -> None:
    history = _Story()
    history.complete(history.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]}))
    history.fails()
    assert judged(own_values_are_read, history) == ([], 0)


def test_value_whose_schema_the_broker_does_not_tell_is_not_judged() -> None:
    history = _Story()
    history.fails(answered=None)
    assert judged(own_values_are_read, history) == ([], 0)


def test_value_whose_request_lost_its_connection_is_not_judged() -> None:
    history = _Story()
    call = history.invoke("value", CONSUMER, args={"consumer": CONSUMER, "messages": [1]})
    history.complete(call, Outcome.UNKNOWN, error=ErrorClass.TRANSPORT)
    assert judged(own_values_are_read, history) == ([], 0)
