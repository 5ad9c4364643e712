"""Whether lookups that have ended count among those that may wait."""

from __future__ import annotations

from msgspec.structs import replace

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.connection.ended_lookup_frees_its_place import ended_lookup_frees_its_place

FIRST, SECOND = 5, 6
LIMITED = ClientConfig(client={"operation_timeout_ms": 1_000, "max_concurrent_lookups": 1})


class _Story(Script):
    """A lookup is never answered, and its opening times out."""

    def __init__(self) -> None:
        super().__init__()
        self.invoke("open_client", 0, args={"config": {}})
        self.connected()
        opening = self.at(1_000).invoke("open_producer", FIRST, args={"client": 0, "topic": "t"})
        self.up("LOOKUP", request_id=1)
        self.at(2_000).complete(opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)

    def opens(self, at_ms: int, outcome: Outcome = Outcome.OK, *, asks: bool = True) -> None:
        opening = self.at(at_ms).invoke("open_producer", SECOND, args={"client": 0, "topic": "u"})
        if asks:
            self.up("LOOKUP", request_id=2)
            self.down("LOOKUP_RESPONSE", request_id=2)
        self.complete(opening, outcome, error=None if outcome is Outcome.OK else ErrorClass.OTHER)

    def judged(self, config: ClientConfig = LIMITED) -> tuple[list[str], int]:
        check = trial(ended_lookup_frees_its_place, self.done(), replace(ANY_CASE, config=config))
        return [finding.code for finding in check.findings], check.exercised


def test_opening_behind_a_lookup_that_timed_out_may_succeed() -> None:
    story = _Story()
    story.opens(4_000)
    assert story.judged() == ([], 1)


def test_opening_that_is_refused_for_a_lookup_that_timed_out_is_found() -> None:
    story = _Story()
    story.opens(4_000, Outcome.FAIL, asks=False)
    assert story.judged() == (["refused-with-room"], 1)


def test_opening_that_has_asked_may_fail() -> None:
    story = _Story()
    story.opens(4_000, Outcome.FAIL)
    assert story.judged() == ([], 1)


def test_opening_beside_a_lookup_that_may_still_wait_is_not_judged() -> None:
    story = _Story()
    story.opens(1_500, Outcome.FAIL, asks=False)
    assert story.judged() == ([], 0)


def test_opening_behind_the_end_of_the_connection_is_not_judged() -> None:
    story = _Story()
    story.cut()
    story.opens(4_000, Outcome.FAIL, asks=False)
    assert story.judged() == ([], 0)


def test_opening_of_a_client_without_a_limit_is_not_judged() -> None:
    story = _Story()
    story.opens(4_000, Outcome.FAIL, asks=False)
    assert story.judged(ClientConfig(client={"operation_timeout_ms": 1_000})) == ([], 0)
