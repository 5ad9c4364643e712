"""The check of `routing.lazy-start-failure-ends-send`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.routing._lazily import Lazily

from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.routing.lazy_start_failure_ends_send import lazy_start_failure_ends_send


def story(error: str = "AuthorizationError") -> Lazily:
    """The second partition refuses its producer."""
    history = Lazily()
    history.registers(0)
    history.send(0)
    asked = history.registers(1, answered=False)
    history.down("ERROR", request_id=asked.request_id, fields={"error": error})
    return history


def test_message_that_fails_with_its_partition_is_accepted() -> None:
    history = story()
    history.fail(0, ErrorClass.AUTH)
    assert judged(lazy_start_failure_ends_send, history) == ([], 1)


def test_message_that_goes_on_waiting_is_found() -> None:
    history = story()
    history.at(9_000).fail(0, ErrorClass.TIMEOUT)
    assert judged(lazy_start_failure_ends_send, history) == (["left-pending"], 1)


def test_message_may_wait_where_a_retry_may_help() -> None:
    history = story("ServiceNotReady")
    assert judged(lazy_start_failure_ends_send, history.at(9_000)) == ([], 0)
