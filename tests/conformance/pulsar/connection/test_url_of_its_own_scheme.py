"""The check of `connection.url-of-its-own-scheme`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.connection.url_of_its_own_scheme import url_of_its_own_scheme


def opening(*, registers: bool, lost: bool = False, tls_url: str = "pulsar+ssl://b:2") -> tuple[list[str], int]:
    """A producer is opened, and the answer to its lookup names its broker by two URLs."""
    story = Script()
    story.opened()
    call = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.up("LOOKUP", request_id=1, fields={"topic": story.full("t")})
    urls = {"brokerServiceUrl": "pulsar://b:1", "brokerServiceUrlTls": tls_url}
    story.down("LOOKUP_RESPONSE", request_id=1, fields={"response": "Connect", **urls})
    if lost:
        story.closed()
    if registers:
        story.producer_ready()
        story.complete(call)
    else:
        story.complete(call, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    check = trial(url_of_its_own_scheme, story.done())
    return codes_of(check), check.exercised


def test_client_that_registers_has_taken_its_own_url() -> None:
    assert opening(registers=True) == ([], 1)


def test_client_that_never_registers_has_taken_the_other_url() -> None:
    assert opening(registers=False) == (["not-opened"], 0)


def test_lost_connection_may_keep_a_client_from_registering() -> None:
    assert opening(registers=False, lost=True) == ([], 0)


def test_one_url_leaves_no_choice() -> None:
    assert opening(registers=False, tls_url="") == ([], 0)
