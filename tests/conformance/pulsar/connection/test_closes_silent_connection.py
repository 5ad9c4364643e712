"""The check of `connection.closes-silent-connection`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case
from assay_conformance.model.event import Fired, Healed
from assay_conformance.model.fault import AtTime, Fault
from assay_conformance.model.outside import Partition, Timeout
from assay_conformance.pulsar.checks.connection.closes_silent_connection import closes_silent_connection

PINGING = msgspec.structs.replace(ANY_CLIENT, fixed={"keep_alive_ms": 10_000})


def _silent(ping_ms: int | None = 10_000) -> Script:
    story = Script()
    story.connected()
    if ping_ms is not None:
        story.at(ping_ms).up("PING")
    return story


def test_client_that_pings_and_leaves_is_accepted() -> None:
    story = _silent()
    story.at(20_000).closed()
    check = trial(closes_silent_connection, story.done(), facts=PINGING)
    assert (check.findings, check.exercised) == ([], 1)


def test_client_that_stays_with_a_silent_peer_is_found() -> None:
    assert codes_of(trial(closes_silent_connection, _silent().at(40_000).done(), facts=PINGING)) == ["stayed"]


def test_idle_client_that_does_not_ping_is_found() -> None:
    story = _silent(None)
    story.at(20_000).closed()
    assert codes_of(trial(closes_silent_connection, story.done(), facts=PINGING)) == ["no-ping"]


def test_answered_ping_ends_the_silence() -> None:
    story = _silent()
    story.down("PONG")
    check = trial(closes_silent_connection, story.at(12_000).done(), facts=PINGING)
    assert (check.findings, check.exercised) == ([], 0)


def test_client_that_speaks_need_not_ping() -> None:
    story = _silent(None)
    story.at(5_000).up("SEND", producer_id=0, sequence_id=0)
    story.at(19_000).closed()
    assert codes_of(trial(closes_silent_connection, story.done(), facts=PINGING)) == []


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
    check = trial(closes_silent_connection, story.done(), case, PINGING)
    assert (check.findings, check.exercised) == ([], 1)


def test_client_that_stays_behind_a_toxic_is_found() -> None:
    story, case = _behind(UNHEARD)
    assert codes_of(trial(closes_silent_connection, story.at(40_000).done(), case, PINGING)) == ["stayed"]


def test_client_is_heard_again_when_the_toxic_is_healed() -> None:
    story, case = _behind(UNHEARD)
    story.at(12_000).add(Healed, fault=0)
    story.down("PONG")
    check = trial(closes_silent_connection, story.at(20_000).done(), case, PINGING)
    assert (check.findings, check.exercised) == ([], 0)


def test_client_that_cannot_be_heard_either_is_not_blamed() -> None:
    story, case = _behind(Partition())
    check = trial(closes_silent_connection, story.at(60_000).done(), case, PINGING)
    assert check.findings == []


def test_client_of_unknown_interval_is_not_judged() -> None:
    assert codes_of(trial(closes_silent_connection, _silent().at(90_000).done())) == []
