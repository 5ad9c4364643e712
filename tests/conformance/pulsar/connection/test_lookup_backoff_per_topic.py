"""Whether one topic waits for the trouble of another."""

from __future__ import annotations

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.connection.lookup_backoff_per_topic import lookup_backoff_per_topic


class _LookedUp(Script):
    """Topic t is refused, with these pauses between its lookups."""

    def __init__(self, *pauses_ms: int) -> None:
        super().__init__()
        self.connected(0)
        self.requests = 0
        self.refused("t")
        for pause_ms in pauses_ms:
            self.after(pause_ms)
            self.refused("t")

    def look_up(self, topic: str) -> int:
        self.requests += 1
        self.up("LOOKUP", request_id=self.requests, fields={"topic": self.full(topic)})
        return self.requests

    def refused(self, topic: str) -> None:
        said = {"response": "Failed", "error": "ServiceNotReady"}
        self.down("LOOKUP_RESPONSE", request_id=self.look_up(topic), fields=said)

    def judged(self) -> tuple[list[str], int]:
        check = trial(lookup_backoff_per_topic, self.at(20_000).done())
        return [finding.code for finding in check.findings], check.exercised


def test_topic_with_a_first_pause_of_its_own_is_accepted() -> None:
    story = _LookedUp(100, 200, 400, 800)
    story.refused("u")
    story.after(110)
    story.look_up("u")
    assert story.judged() == ([], 1)


def test_topic_that_waits_as_long_as_another_has_come_to_is_found() -> None:
    story = _LookedUp(100, 200, 400, 800, 1_600)
    story.refused("u")
    story.after(3_200)
    story.look_up("u")
    assert story.judged()[0] == ["waits-for-another"]


def test_topic_that_is_never_asked_for_again_is_found() -> None:
    story = _LookedUp(100, 200, 400, 800)
    story.refused("u")
    assert story.judged()[0] == ["waits-for-another"]


def test_client_whose_pauses_do_not_grow_shows_nothing() -> None:
    story = _LookedUp(5_000, 5_000)
    story.refused("u")
    story.after(5_000)
    story.look_up("u")
    assert story.judged() == ([], 0)
