"""The check of `connection.retries-lookups`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.connection.retries_lookups import retries_lookups


class _LookedUp(Script):
    """A producer is opened, and its lookups are answered so, with a pause between them."""

    def __init__(self, *errors: str, pause_ms: int = 100) -> None:
        super().__init__()
        self.opening = self.invoke("open_producer", PRODUCER, args={"topic": "t"})
        self.connected(0)
        for number, error in enumerate(errors):
            if number:
                self.after(pause_ms)
            self.look_up(number)
            self.down("LOOKUP_RESPONSE", request_id=number, fields={"response": "Failed", "error": error})

    def look_up(self, number: int, topic: str = "t") -> None:
        self.up("LOOKUP", request_id=number, fields={"topic": self.full(topic)})

    def judged(self, timeout_ms: int = 10_000) -> Check:
        case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(client={"operation_timeout_ms": timeout_ms}))
        facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"operation_timeout_ms"}))
        return trial(retries_lookups, self.at(20_000).done(), case, facts)


def test_lookup_tried_again_until_it_succeeds_is_accepted() -> None:
    story = _LookedUp("ServiceNotReady", "TooManyRequests")
    story.after(200)
    story.look_up(9)
    story.complete(story.opening)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_opening_that_fails_with_its_first_lookup_is_found() -> None:
    story = _LookedUp("ServiceNotReady")
    story.complete(story.opening, Outcome.FAIL, error=ErrorClass.NOT_LEADER)
    assert codes_of(story.judged()) == ["gave-up"]


@pytest.mark.parametrize(("is_cut", "codes"), [(True, []), (False, ["kept-asking"])])
def test_final_error_on_a_connection_that_is_lost_may_not_have_been_read(is_cut: bool, codes: list[str]) -> None:
    story = _LookedUp("AuthorizationError")
    if is_cut:
        story.cut()
    story.after(100)
    story.look_up(9)
    story.complete(story.opening)
    assert codes_of(story.judged()) == codes


def test_opening_that_ends_with_its_process_gave_nothing_up() -> None:
    story = _LookedUp("ServiceNotReady")
    story.complete(story.opening, Outcome.UNKNOWN, error=ErrorClass.CLOSED)
    assert codes_of(story.judged()) == []


def test_opening_of_a_second_that_fails_with_its_first_lookup_is_found() -> None:
    story = _LookedUp("ServiceNotReady")
    story.complete(story.opening, Outcome.FAIL, error=ErrorClass.NOT_LEADER)
    assert codes_of(story.judged(timeout_ms=1_000)) == ["gave-up"]


def test_opening_of_a_second_that_asked_twice_may_have_no_time_left() -> None:
    story = _LookedUp("ServiceNotReady", "ServiceNotReady")
    story.complete(story.opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert codes_of(story.judged(timeout_ms=1_000)) == []


def test_opening_that_fails_when_its_time_is_up_is_accepted() -> None:
    story = _LookedUp("ServiceNotReady")
    story.at(9_900).complete(story.opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert codes_of(story.judged()) == []


def test_opening_that_fails_when_its_next_pause_would_not_fit_is_accepted() -> None:
    story = _LookedUp("ServiceNotReady")
    story.at(6_000).complete(story.opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)
    assert codes_of(story.judged()) == []


@pytest.mark.parametrize(("pause_ms", "codes"), [(5_000, ["repeated-late"]), (3_900, []), (100, [])])
def test_look_up_that_is_repeated_only_when_the_time_of_its_opening_is_over_is_found(
    pause_ms: int, codes: list[str]
) -> None:
    assert codes_of(_LookedUp("ServiceNotReady", "ServiceNotReady", pause_ms=pause_ms).judged(4_000)) == codes


def test_look_up_that_failed_late_may_be_repeated_later() -> None:
    story = _LookedUp("ServiceNotReady", "ServiceNotReady", pause_ms=2_500)
    story.after(2_000)
    story.look_up(9)
    assert codes_of(story.judged(4_000)) == []


def test_lookups_of_others_behind_one_that_failed_are_no_haste() -> None:
    story = _LookedUp("ServiceNotReady")
    for number in range(1, 5):
        story.look_up(number)
    assert codes_of(story.judged()) == []


def test_lookups_without_any_pause_are_found() -> None:
    assert codes_of(_LookedUp(*["ServiceNotReady"] * 5, pause_ms=1).judged()) == ["without-pause"]


def test_opening_that_ends_with_an_answer_some_take_for_final_is_accepted() -> None:
    story = _LookedUp("ServiceNotReady", "NotAllowedError")
    story.complete(story.opening, Outcome.FAIL)
    assert codes_of(story.judged()) == []


def test_opening_that_is_refused_behind_its_lookups_is_accepted() -> None:
    story = _LookedUp("ServiceNotReady")
    story.after(200)
    story.look_up(9)
    asked = story.producer_asks()
    story.down("ERROR", request_id=asked.request_id, fields={"error": "NotAllowedError"})
    story.complete(story.opening, Outcome.FAIL)
    assert codes_of(story.judged()) == []


def test_forbidden_lookup_is_not_to_be_tried_again() -> None:
    story = _LookedUp("AuthorizationError")
    story.complete(story.opening, Outcome.FAIL, error=ErrorClass.AUTH)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)
    story = _LookedUp("AuthorizationError")
    story.after(200)
    story.look_up(9)
    assert codes_of(story.judged()) == ["kept-asking"]


def test_other_partitions_may_be_looked_up_when_that_of_one_is_forbidden() -> None:
    story = _LookedUp()
    for number, partition in enumerate(("t-partition-0", "t-partition-1")):
        story.look_up(number, partition)
        story.down("LOOKUP_RESPONSE", request_id=number, fields={"response": "Failed", "error": "AuthorizationError"})
    assert codes_of(story.judged()) == []
    story.after(200)
    story.look_up(9, "t-partition-1")
    assert codes_of(story.judged()) == ["kept-asking"]


def _partitions_fail(story: Script, number: int, error: str = "ServiceNotReady") -> None:
    story.up("PARTITIONED_METADATA", request_id=number, fields={"topic": story.full("t")})
    fields = {"response": "Failed", "error": error}
    story.down("PARTITIONED_METADATA_RESPONSE", request_id=number, fields=fields)


class _SecondOpening(_LookedUp):
    """A producer is open on the topic when another one is opened there."""

    def __init__(self) -> None:
        super().__init__("ServiceNotReady")
        self.after(100)
        self.look_up(1)
        self.complete(self.opening)
        self.second = self.invoke("open_producer", PRODUCER + 10, args={"topic": "t"})


def test_opening_that_the_client_refuses_by_itself_gave_nothing_up() -> None:
    """A window of no length is refused at once; the open producer's look for added partitions fails just then, and the
    word of the refusal comes late to the bench."""
    story = _SecondOpening()
    done_ns = story.after(5).now_ns
    _partitions_fail(story, 15)
    story.after(70)
    story.complete(story.second, Outcome.FAIL, error=ErrorClass.INVALID_CONFIG, done_ns=done_ns)
    assert codes_of(story.judged()) == []


def test_lookup_that_fails_behind_the_end_of_an_opening_was_not_given_up_by_it() -> None:
    story = _LookedUp()
    done_ns = story.now_ns
    story.after(5)
    story.look_up(7)
    story.down("LOOKUP_RESPONSE", request_id=7, fields={"response": "Failed", "error": "ServiceNotReady"})
    story.after(70).complete(story.opening, Outcome.FAIL, error=ErrorClass.TRANSPORT, done_ns=done_ns)
    assert codes_of(story.judged()) == []


@pytest.mark.parametrize("error", ["ServiceNotReady", "AuthorizationError"])
def test_what_an_open_producer_looks_for_in_vain_is_not_laid_to_an_opening(error: str) -> None:
    story = _SecondOpening()
    _partitions_fail(story, 15, error)
    story.after(100)
    _partitions_fail(story, 16, error)
    story.complete(story.second, Outcome.FAIL, error=ErrorClass.OTHER)
    assert codes_of(story.judged()) == []


def test_look_up_that_only_an_opening_can_have_made_is_its_own_beside_an_open_producer() -> None:
    story = _SecondOpening()
    story.look_up(7)
    story.down("LOOKUP_RESPONSE", request_id=7, fields={"response": "Failed", "error": "ServiceNotReady"})
    story.complete(story.second, Outcome.FAIL, error=ErrorClass.NOT_LEADER)
    assert codes_of(story.judged()) == ["gave-up"]


class _WithLetters(Script):
    """A consumer of a topic and of its retry letter topic is opened. The lookup of the topic fails."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = f"{self.full('t')}-s-RETRY"
        self.asked = self.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "subscription": "s"})
        self.connected(0)
        self.up("LOOKUP", request_id=5, fields={"topic": self.full("t")})
        self.down("LOOKUP_RESPONSE", request_id=5, fields={"response": "Failed", "error": "TooManyRequests"})

    def subscribes(self, topic: str, error: str) -> None:
        self.up("SUBSCRIBE", consumer_id=1, request_id=8, fields={"topic": topic, "subscription": "s"})
        self.down("ERROR", request_id=8, fields={"error": error})

    def judged(self) -> list[str]:
        config = ClientConfig(client={"operation_timeout_ms": 10_000}, consumer={"retry_letters": True})
        case = msgspec.structs.replace(ANY_CASE, config=config)
        facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"operation_timeout_ms", "retry_letters"}))
        return codes_of(trial(retries_lookups, self.at(20_000).done(), case, facts))


@pytest.mark.parametrize("asked_again", [True, False])
def test_opening_that_its_retry_letter_topic_ends_gave_nothing_up(asked_again: bool) -> None:
    story = _WithLetters()
    story.subscribes(story.letters, "TopicTerminatedError")
    if asked_again:
        story.after(100).up("LOOKUP", request_id=9, fields={"topic": story.full("t")})
        story.down("LOOKUP_RESPONSE", request_id=9, fields={"response": "Connect"})
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.TERMINATED)
    assert story.judged() == []


def test_opening_with_a_retry_letter_topic_has_to_ask_again_too() -> None:
    story = _WithLetters()
    story.complete(story.asked, Outcome.FAIL, error=ErrorClass.NOT_LEADER)
    assert story.judged() == ["gave-up"]
