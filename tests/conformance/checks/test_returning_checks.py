"""Coming back and staying away, both ways."""

from __future__ import annotations

import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, PRODUCER, Script
from assay_conformance.model.event import AgentEnded, Invoke, Outcome, Sides
from assay_conformance.pulsar.checks.resend.backs_off import backs_off
from assay_conformance.pulsar.checks.resend.closed_stays_closed import closed_stays_closed
from assay_conformance.pulsar.checks.resend.comes_back_after_close_producer import comes_back_after_close_producer
from assay_conformance.pulsar.checks.resend.epoch_grows import epoch_grows


def _codes(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


# --- comes-back-after-close-producer ----------------------------------------------------------------------------------


class _SentAway(Script):
    def __init__(self, **order: str) -> None:
        super().__init__()
        self.producer()
        self.down("CLOSE_PRODUCER", producer_id=0, fields=order)

    def looks_up(self) -> None:
        self.up("LOOKUP", fields={"topic": self.full("t")})

    def judged(self) -> Check:
        return trial(comes_back_after_close_producer, self.at(5_000).done())


def test_producer_that_looks_up_and_registers_again_is_accepted() -> None:
    story = _SentAway()
    story.looks_up()
    story.producer_ready()
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_does_not_come_back_is_found() -> None:
    assert _codes(_SentAway().judged()) == ["not-back"]


def test_producer_that_was_told_the_end_need_not_come_back() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "TopicTerminatedError"})
    story.down("CLOSE_PRODUCER", producer_id=0)
    assert _codes(trial(comes_back_after_close_producer, story.at(5_000).done())) == []


def test_producer_whose_lookup_is_swallowed_waits_for_its_answer() -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, sides=Sides.SENDER, fields={"topic": story.full("t")})
    assert _codes(story.judged()) == []


@pytest.mark.parametrize(("answered_ms", "codes"), [(4_900, []), (1_000, ["not-back"])])
def test_producer_whose_lookup_is_answered_late_has_its_time_from_then(answered_ms: int, codes: list[str]) -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, fields={"topic": story.full("t")})
    story.at(answered_ms).down("LOOKUP_RESPONSE", request_id=90, fields={"response": "Connect"})
    assert _codes(story.judged()) == codes


def test_producer_whose_lookup_was_lost_with_its_connection_has_to_ask_again() -> None:
    story = _SentAway()
    story.connected(1)
    story.up("LOOKUP", 1, request_id=90, sides=Sides.SENDER, fields={"topic": story.full("t")})
    story.cut(1)
    assert _codes(story.judged()) == ["not-back"]


def test_producer_whose_lookup_was_lost_with_its_connection_has_time_to_ask_again() -> None:
    story = _SentAway()
    story.connected(1)
    story.up("LOOKUP", 1, request_id=90, sides=Sides.SENDER, fields={"topic": story.full("t")})
    story.at(4_900).cut(1)
    assert _codes(story.judged()) == []


def test_producer_waits_for_its_lookup_until_the_connection_ends() -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, sides=Sides.SENDER, fields={"topic": story.full("t")})
    story.after(5_000).cut()
    assert _codes(story.judged()) == []


def test_producer_whose_lookup_is_refused_may_be_over() -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", request_id=90, fields={"error": "TopicTerminatedError"})
    assert _codes(story.judged()) == []


def test_lookup_that_was_under_way_for_another_of_the_topic_serves_the_producer_as_well() -> None:
    story = Script()
    story.producer()
    story.up("LOOKUP", request_id=90, fields={"topic": story.full("t")})
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.down("LOOKUP_RESPONSE", request_id=90)
    story.producer_ready()
    assert _codes(trial(comes_back_after_close_producer, story.at(5_000).done())) == []


def test_connection_that_ends_with_the_agent_is_not_left_over_a_producer() -> None:
    story = _SentAway()
    story.add(AgentEnded, reason="killed", exit_status=-9)
    story.closed()
    assert _codes(story.judged()) == []


def test_broker_that_says_it_is_not_ready_may_be_left() -> None:
    story = _SentAway()
    story.up("LOOKUP", request_id=90, fields={"topic": story.full("t")})
    story.down("LOOKUP_RESPONSE", request_id=90, fields={"error": "ServiceNotReady"})
    story.closed()
    story.producer_again(1)
    assert _codes(story.judged()) == []


def test_connection_closed_over_one_producer_is_found() -> None:
    story = _SentAway()
    story.closed()
    story.producer_again(1)
    assert _codes(story.judged()) == ["left-the-connection"]


def test_registering_without_a_lookup_is_found() -> None:
    story = _SentAway()
    story.producer_ready()
    assert _codes(story.judged()) == ["no-lookup"]


def test_broker_that_names_another_one_needs_no_lookup() -> None:
    story = _SentAway(assignedBrokerServiceUrl="pulsar://two:6650")
    story.producer_again(1)
    assert _codes(story.judged()) == []


def test_producer_that_was_to_be_closed_anyway_need_not_come_back() -> None:
    story = _SentAway()
    story.invoke("close", PRODUCER)
    assert _codes(story.judged()) == []


def test_connection_left_over_a_refused_send_proves_nothing() -> None:
    story = _SentAway()
    story.down("SEND_ERROR", producer_id=0, sequence_id=0)
    story.closed()
    story.up("LOOKUP", 1, fields={"topic": story.full("t")})
    story.producer_again(1)
    assert _codes(story.judged()) == []


# --- epoch-grows ------------------------------------------------------------------------------------------------------


def _epochs(first: int, second: int, *, admitted: bool = True) -> Check:
    story = Script()
    story.producer(producer_id=5)  # so that the handle is open
    story.producer_asks(epoch=first)
    if admitted:
        story.down("PRODUCER_SUCCESS", request_id=2, fields={"producer_name": NAME})
    story.producer_asks(epoch=second)
    return trial(epoch_grows, story.done())


@pytest.mark.parametrize(("first", "second", "admitted"), [(1, 2, True), (1, 7, True), (1, 1, False)])
def test_epoch_that_grows_is_accepted(first: int, second: int, admitted: bool) -> None:
    assert _codes(_epochs(first, second, admitted=admitted)) == []


def test_producer_behind_one_that_its_client_closed_begins_anew() -> None:
    story = Script()
    story.producer(producer_id=5)
    story.producer_asks(epoch=1)
    story.down("PRODUCER_SUCCESS", request_id=2, fields={"producer_name": NAME})
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=9)
    story.producer_asks(producer_id=1, epoch=0)
    assert _codes(trial(epoch_grows, story.done())) == []


@pytest.mark.parametrize(("first", "second", "admitted"), [(1, 1, True), (2, 1, True), (2, 1, False)])
def test_epoch_that_does_not_grow_is_found(first: int, second: int, admitted: bool) -> None:
    assert _codes(_epochs(first, second, admitted=admitted)) == ["epoch-does-not-grow"]


def _first(epoch: int, *, lasts_ms: float = 5, disturbed: bool = False, sent_away: bool = False) -> list[str]:
    story = Script()
    story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected(0)
    if sent_away:
        story.down("CLOSE_PRODUCER", producer_id=5)
    if disturbed:
        story.closed(0)
        story.connected(1)
    story.after(lasts_ms).producer_asks(1 if disturbed else 0, epoch=epoch)
    return _codes(trial(epoch_grows, story.done()))


def test_first_epoch_behind_a_producer_that_was_sent_away_may_count_that() -> None:
    assert _first(1, sent_away=True) == []


def test_first_epoch_that_is_not_zero_is_found() -> None:
    assert (_first(0), _first(7)) == ([], ["first-epoch-not-zero"])


def test_first_epoch_counts_attempts_that_ended_early() -> None:
    assert (_first(1, disturbed=True), _first(1, lasts_ms=150)) == ([], [])


def test_name_that_its_client_may_never_have_read_tells_nobody_whose_producer_it_is() -> None:
    """One failed to open, and the other one's first name was lost with its connection: it goes by another."""
    story = Script()
    failing = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected(0)
    refused = story.producer_asks(name="", epoch=1)
    story.down("ERROR", request_id=refused.request_id, fields={"error": "NotAllowedError"})
    story.complete(failing, Outcome.FAIL)
    opening = story.invoke("open_producer", PRODUCER + 7, args={"topic": "t"})
    for conn, name in enumerate(("first", "second")):
        asked = story.producer_asks(conn, producer_id=1, name="", epoch=conn)
        story.down("PRODUCER_SUCCESS", conn, request_id=asked.request_id, fields={"producer_name": name})
        if conn == 0:
            story.cut(conn)
            story.connected(1)
    story.complete(opening, producer_name="second")
    assert "epoch-does-not-grow" not in _codes(trial(epoch_grows, story.done()))


# --- closed-stays-closed ----------------------------------------------------------------------------------------------


class _Away(Script):
    """Message 0 has no receipt, the connection is gone, and the producer is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.producer()
        self.send(0)
        self.send_frame(0)
        self.cut()

    def close(self) -> Invoke:
        return self.invoke("close", PRODUCER)

    def judged(self) -> Check:
        return trial(closed_stays_closed, self.at(5_000).done())


def test_producer_closed_while_away_that_stays_away_is_accepted() -> None:
    story = _Away()
    close = story.close()
    story.unknown(0)
    story.complete(close)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_registers_after_its_close_is_found() -> None:
    story = _Away()
    story.complete(story.close())
    story.unknown(0)
    story.after(300).producer_again(1)
    assert _codes(story.judged()) == ["came-back"]


def test_another_producer_of_that_name_is_not_the_closed_one() -> None:
    story = _Away()
    story.complete(story.close())
    story.unknown(0)
    story.after(300)
    story.producer(7, conn=1)
    assert _codes(story.judged()) == []


def test_another_of_that_name_may_be_on_its_way_back_when_it_is_closed() -> None:
    story = _Away()
    story.complete(story.close())
    story.unknown(0)
    story.after(300).producer(7, conn=1)
    story.cut(1)
    story.complete(story.invoke("close", 7))
    story.after(5).producer_again(2)
    assert _codes(story.judged()) == []


def test_send_left_pending_is_found() -> None:
    story = _Away()
    story.complete(story.close())
    assert _codes(story.judged()) == ["left-pending"]


@pytest.mark.parametrize("called_late", [False, True])
def test_close_that_had_to_wait_until_its_producer_was_back_is_not_one_while_away(called_late: bool) -> None:
    story = _Away()
    close = story.close()
    story.after(100).producer_again(1)
    back = story.after(10).up("CLOSE_PRODUCER", 1, producer_id=0, request_id=99)
    story.complete(close, called_ns=back.t_ns if called_late else close.t_ns)
    assert _codes(story.judged()) == ([] if called_late else ["left-pending"])


def _admitted_meanwhile(*, told: bool) -> Check:
    story = _Away()
    story.connected(1)
    asked = story.producer_asks(1)
    close = story.close()
    story.unknown(0)
    if told:
        story.up("CLOSE_PRODUCER", 1, producer_id=0, request_id=99)
    story.complete(close)
    story.down("PRODUCER_SUCCESS", 1, request_id=asked.request_id, fields={"producer_name": NAME})
    return story.judged()


def test_broker_told_of_the_close_is_accepted() -> None:
    check = _admitted_meanwhile(told=True)
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_left_at_the_broker_is_found() -> None:
    assert _codes(_admitted_meanwhile(told=False)) == ["left-behind"]


# --- backs-off --------------------------------------------------------------------------------------------------------


class _Refused(Script):
    """A producer loses its connection and is refused so often, waiting so long each time."""

    def __init__(self, *waits_ms: float, **config: object) -> None:
        super().__init__()
        self.producer(**config)  # type: ignore[arg-type]
        self.cut()
        self.connected(1)
        for wait_ms in waits_ms:
            self._refuse()
            self.after(wait_ms)
        self.producer_ready(1)

    def _refuse(self) -> None:
        asked = self.producer_asks(1)
        self.down("ERROR", 1, request_id=asked.request_id, fields={"error": "ServiceNotReady"})

    def judged(self) -> Check:
        return trial(backs_off, self.done())


def test_waits_that_grow_are_accepted() -> None:
    check = _Refused(100, 200, 400).judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_waits_that_stay_the_same_are_found() -> None:
    assert _codes(_Refused(100, 120, 110).judged()) == ["does-not-grow"]


def test_wait_that_the_send_time_out_cuts_short_is_accepted() -> None:
    check = _Refused(200, 400, 200, send_timeout_ms=1_000).judged()
    assert (_codes(check), check.exercised) == ([], 0)


def test_wait_for_another_connection_is_no_wait_between_attempts() -> None:
    story = Script()
    story.producer()
    story.cut()
    for conn, wait_ms in enumerate((1_000, 800, 1_600), 1):
        story.connected(conn)
        asked = story.producer_asks(conn)
        story.down("ERROR", conn, request_id=asked.request_id, fields={"error": "ServiceNotReady"})
        story.cut(conn)
        story.after(wait_ms)
    story.producer_again(4)
    assert _codes(trial(backs_off, story.done())) == []


def test_few_refusals_show_nothing() -> None:
    check = _Refused(100, 100).judged()
    assert (_codes(check), check.exercised) == ([], 0)


def test_first_wait_of_the_next_outage_is_short_again() -> None:
    story = _Refused(100, 200, 400)
    story.after(200).cut(1)
    story.after(100).producer_again(2)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 2)


@pytest.mark.parametrize(
    ("sends", "stays_ms", "codes"), [(False, 200, ["does-not-reset"]), (True, 0, ["does-not-reset"]), (False, 0, [])]
)
def test_wait_that_stays_long_after_a_success_that_was_heard_is_found(
    sends: bool, stays_ms: int, codes: list[str]
) -> None:
    """The client sends, or its connection stands for a while: else it may never have read that it was admitted."""
    story = _Refused(100, 200, 400)
    if sends:
        story.send_frame(0, conn=1)
    story.after(stays_ms).cut(1)
    story.after(1_600).producer_again(2)
    assert _codes(story.judged()) == codes
