import msgspec
import pytest

from assay_conformance.checks.connection import AnswersPing, ConnectsFirst, LeavesSilentPeer
from assay_conformance.checks.plain.passed import Passed
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case, Rate, Topic, Topology
from assay_conformance.model.event import Fired, Healed, Sides
from assay_conformance.model.fault import AtTime, Fault
from assay_conformance.model.outside import Partition, Timeout
from assay_conformance.model.policy import BrokerSettings

PINGING = msgspec.structs.replace(ANY_CLIENT, fixed={"keep_alive_ms": 10_000})


def _codes(check: object) -> list[str]:
    return [finding.code for finding in check.findings]  # type: ignore[attr-defined]


# --- connects-first ---------------------------------------------------------------------------------------------------


def test_handshake_before_everything_is_accepted() -> None:
    story = Script()
    story.producer()
    check = trial(ConnectsFirst, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_other_first_frame_is_found() -> None:
    story = Script()
    story.opened()
    story.up("PING")
    story.up("CONNECT")
    assert _codes(trial(ConnectsFirst, story.done())) == ["something-else-first"]


def test_frame_before_connected_is_found() -> None:
    story = Script()
    story.opened()
    story.up("CONNECT")
    story.up("LOOKUP")
    story.down("CONNECTED")
    assert _codes(trial(ConnectsFirst, story.done())) == ["before-connected"]


def test_connected_that_is_still_held_has_not_reached_the_client() -> None:
    story = Script()
    story.opened()
    story.up("CONNECT")
    story.down("CONNECTED", sides=Sides.SENDER)
    story.up("LOOKUP")
    assert _codes(trial(ConnectsFirst, story.done())) == ["before-connected"]


def test_frame_after_a_refusal_is_found() -> None:
    story = Script()
    story.opened()
    story.up("CONNECT")
    story.down("ERROR")
    story.up("LOOKUP")
    assert _codes(trial(ConnectsFirst, story.done())) == ["before-connected"]


def test_authentication_belongs_to_the_handshake() -> None:
    story = Script()
    story.opened()
    story.up("CONNECT")
    story.down("AUTH_CHALLENGE")
    story.up("AUTH_RESPONSE")
    story.down("CONNECTED")
    assert _codes(trial(ConnectsFirst, story.done())) == []


# --- answers-ping -----------------------------------------------------------------------------------------------------


def _pinged() -> Script:
    story = Script()
    story.connected()
    story.at(100).down("PING")
    return story


def test_prompt_pong_is_accepted() -> None:
    story = _pinged()
    story.up("PONG")
    check = trial(AnswersPing, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_late_pong_is_found() -> None:
    story = _pinged()
    story.at(2000).up("PONG")
    assert _codes(trial(AnswersPing, story.done())) == ["late"]


def test_missing_pong_is_found() -> None:
    assert _codes(trial(AnswersPing, _pinged().at(2000).done())) == ["no-pong"]


def test_ping_right_before_a_cut_proves_nothing() -> None:
    story = _pinged()
    story.cut()
    check = trial(AnswersPing, story.at(2000).done())
    assert (check.findings, check.exercised) == ([], 0)


def test_ping_that_never_reached_the_client_is_not_judged() -> None:
    story = Script()
    story.connected()
    story.down("PING", sides=Sides.SENDER)
    assert _codes(trial(AnswersPing, story.at(2000).done())) == []


@pytest.mark.parametrize(
    "topology",
    [
        Topology(topics=(Topic(name="t", publish_rate=Rate(messages=1)),)),
        Topology(topics=(Topic(name="t"),), settings=BrokerSettings(max_pending_sends=2)),
    ],
    ids=["rate", "sends to store"],
)
def test_pong_is_not_judged_where_the_broker_may_not_read(topology: Topology) -> None:
    case = msgspec.structs.replace(ANY_CASE, topology=topology)
    assert _codes(trial(AnswersPing, _pinged().at(2000).done(), case)) == []


# --- leaves-silent-peer -----------------------------------------------------------------------------------------------


def _silent(ping_ms: int | None = 10_000) -> Script:
    story = Script()
    story.connected()
    if ping_ms is not None:
        story.at(ping_ms).up("PING")
    return story


def test_client_that_pings_and_leaves_is_accepted() -> None:
    story = _silent()
    story.at(20_000).closed()
    check = trial(LeavesSilentPeer, story.done(), facts=PINGING)
    assert (check.findings, check.exercised) == ([], 1)


def test_client_that_stays_with_a_silent_peer_is_found() -> None:
    assert _codes(trial(LeavesSilentPeer, _silent().at(40_000).done(), facts=PINGING)) == ["stayed"]


def test_idle_client_that_does_not_ping_is_found() -> None:
    story = _silent(None)
    story.at(20_000).closed()
    assert _codes(trial(LeavesSilentPeer, story.done(), facts=PINGING)) == ["no-ping"]


def test_answered_ping_ends_the_silence() -> None:
    story = _silent()
    story.down("PONG")
    check = trial(LeavesSilentPeer, story.at(12_000).done(), facts=PINGING)
    assert (check.findings, check.exercised) == ([], 0)


def test_a_plain_stretch_ends_the_silence() -> None:
    *story, end = _silent(None).at(15_000).done()
    passed = Passed(seq=end.seq, t_ns=9_000_000_000, heard_ns={0: 9_000_000_000})
    assert _codes(trial(LeavesSilentPeer, [*story, passed, end], facts=PINGING)) == []  # type: ignore[list-item]
    assert _codes(trial(LeavesSilentPeer, [*story, end], facts=PINGING)) == ["no-ping"]


def test_client_that_speaks_need_not_ping() -> None:
    story = _silent(None)
    story.at(5_000).up("SEND", producer_id=0, sequence_id=0)
    story.at(19_000).closed()
    assert _codes(trial(LeavesSilentPeer, story.done(), facts=PINGING)) == []


def _behind(action: Timeout | Partition) -> tuple[Script, Case]:
    """Nothing comes to the client from 1 s on, whatever the broker writes; it pings at 11 s."""
    story = _silent(None)
    story.at(1_000).add(Fired, fault=0, action="timeout")
    story.at(11_000).up("PING")
    story.down("PONG")
    return story, msgspec.structs.replace(ANY_CASE, faults=(Fault(trigger=AtTime(1_000), action=action),))


UNHEARD = Timeout(timeout_ms=0)


def test_what_a_toxic_keeps_from_a_client_is_not_heard() -> None:
    story, case = _behind(UNHEARD)
    story.at(21_000).closed()
    check = trial(LeavesSilentPeer, story.done(), case, PINGING)
    assert (check.findings, check.exercised) == ([], 1)


def test_client_that_stays_behind_a_toxic_is_found() -> None:
    story, case = _behind(UNHEARD)
    assert _codes(trial(LeavesSilentPeer, story.at(40_000).done(), case, PINGING)) == ["stayed"]


def test_what_a_plain_stretch_brings_behind_a_toxic_is_not_heard() -> None:
    story, case = _behind(UNHEARD)
    *events, end = story.at(40_000).done()
    passed = Passed(seq=end.seq, t_ns=30_000_000_000, heard_ns={0: 30_000_000_000})
    assert _codes(trial(LeavesSilentPeer, [*events, passed, end], case, PINGING)) == ["stayed"]  # type: ignore[list-item]


def test_client_is_heard_again_when_the_toxic_is_healed() -> None:
    story, case = _behind(UNHEARD)
    story.at(12_000).add(Healed, fault=0)
    story.down("PONG")
    check = trial(LeavesSilentPeer, story.at(20_000).done(), case, PINGING)
    assert (check.findings, check.exercised) == ([], 0)


def test_client_that_cannot_be_heard_either_is_not_blamed() -> None:
    story, case = _behind(Partition())
    check = trial(LeavesSilentPeer, story.at(60_000).done(), case, PINGING)
    assert check.findings == []


def test_client_of_unknown_interval_is_not_judged() -> None:
    assert _codes(trial(LeavesSilentPeer, _silent().at(90_000).done())) == []
