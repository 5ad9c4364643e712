"""Every event and fault has describe, and no text of an agent can do more than be read."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from assay_conformance.model import event as ev
from assay_conformance.model import fault as fl
from assay_reports import describe
from assay_reports.describe import LANE_OF, Lane, event_words, fault_words, receipts
from assay_reports.text import clean, counted, one_line

Sample = Any

HOSTILE = {
    "escape": "\x1b[31mred",
    "bell": "a\x07b",
    "carriage return": "good\rbad",
    "override": "abc\u202edef",
    "isolate": "abc\u2066def",
    "zero width": "ab\u200bc",
    "C1": "a\x9b31m",
    "surrogate": "a\ud800b",
    "line separator": "a\u2028b",
    "not XML": "a\ufffeb",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_unfit_characters_become_visible_escapes(kind: str) -> None:
    shown = clean(HOSTILE[kind])
    assert "\\" in shown
    assert shown.isprintable()


def test_fit_text_stays_as_it_is() -> None:
    assert clean("Größe 5 µs → ok\nnext 日本") == "Größe 5 µs → ok\nnext 日本"


def test_one_line_has_no_line_breaks() -> None:
    assert one_line(" a\n\n b\tc ") == "a b c"


def test_cut_text_ends_in_an_ellipsis() -> None:
    assert clean("abcdef", limit=4) == "abc…"


@pytest.mark.parametrize(("count", "told"), [(0, "0 Cases"), (1, "1 Case"), (2, "2 Cases")])
def test_counted_nouns(count: int, told: str) -> None:
    assert counted(count, "Case") == told


def test_every_event_has_words_and_a_lane() -> None:
    kinds = set(get_args(ev.Event))
    assert set(describe._EVENTS) == kinds
    assert set(LANE_OF) == kinds


def test_every_action_has_words() -> None:
    assert set(describe._ACTIONS) == set(get_args(fl.Action))


ID = ev.MessageId(1, 5)
META = ev.Meta(producer_name="p", sequence_id=4)

TOLD: list[tuple[ev.Event, str]] = [
    (ev.Invoke(seq=0, t_ns=0, op=3, verb="send", handle=1, number=2), "send message 2 · handle 1 · op 3"),
    (
        ev.Completion(seq=0, t_ns=0, op=3, verb="send", outcome=ev.Outcome.OK, message_id=ID, sequence_id=4),
        "send: ok 1:5 sequence id 4 · op 3",
    ),
    (
        ev.Completion(seq=0, t_ns=0, op=2, verb="receive", outcome=ev.Outcome.OK, count=3),
        "receive: ok 3 messages · op 2",
    ),
    (
        ev.Received(seq=0, t_ns=0, handle=2, delivery=1, message_id=ev.MessageId(1, 5, 0, 2, 6), size=1, digest=1),
        "received 1:5 partition 0 index 2 of 6 · delivery 1 of handle 2",
    ),
    (ev.Handled(seq=0, t_ns=0, handle=2, delivery=3), "handler returned · delivery 3 of handle 2"),
    (ev.Note(seq=0, t_ns=0, text="disconnected"), "note: disconnected"),
    (ev.Garbled(seq=0, t_ns=0, reason="answered twice"), "agent against the protocol: answered twice"),
    (ev.Opened(seq=0, t_ns=0, conn=1), "connection 1 opened to broker 0"),
    (ev.Closed(seq=0, t_ns=0, conn=1, by=ev.ClosedBy.CLIENT), "connection 1 closed by client"),
    (
        ev.Frame(
            seq=0,
            t_ns=0,
            conn=1,
            dir=fl.Direction.TO_BROKER,
            frame=9,
            command="SEND",
            size=1,
            producer_id=1,
            fate=ev.Fate.DROPPED,
        ),
        "SEND producer 1 · dropped · conn 1",
    ),
    (
        ev.Undecodable(seq=0, t_ns=0, conn=1, dir=fl.Direction.TO_BROKER, reason="no magic"),
        "undecodable bytes: no magic",
    ),
    (ev.Stored(seq=0, t_ns=0, topic="t", id=ID, size=1, unit=1, described=META), "stored 1:5 in t: sequence 4 of p"),
    (ev.ReadBack(seq=0, t_ns=0, topic="t", entries=(ID,)), "t holds 1 entry"),
    (
        ev.Cursor(seq=0, t_ns=0, topic="t", subscription="s", mark_delete=ID, backlog=2),
        "s on t: acked up to 1:5 · backlog 2",
    ),
    (ev.Began(seq=0, t_ns=0, case="a/b", attempt=2, number=0, unix_ms=0), "Case began, attempt 2"),
    (ev.Stepped(seq=0, t_ns=0, step=4, skipped="no such handle"), "step 4 skipped: no such handle"),
    (ev.Waited(seq=0, t_ns=0, step=4, met=False), "wait of step 4 not met"),
    (ev.Fired(seq=0, t_ns=0, fault=0, action="cut", conn=1), "fault 0 fired: cut on connection 1"),
    (ev.Healed(seq=0, t_ns=0, fault=0), "fault 0 healed"),
    (ev.Overdue(seq=0, t_ns=0, op=3, verb="send", deadline_ms=100), "send not ended after 100 ms · op 3"),
    (ev.AgentEnded(seq=0, t_ns=0, reason="crashed", exit_status=2), "agent ended: crashed (exit 2)"),
    (ev.ClockOffset(seq=0, t_ns=0, offset_ns=1_500_000, error_ns=100_000), "agent clock offset 1.5 ms ± 0.1 ms"),
    (
        ev.Load(seq=0, t_ns=0, window_ns=1, loop_lag_ns=2_000_000, agent_wait_ns=0),
        "load: loop lag 2.0 ms, agent waited 0.0 ms, broker 0.0 ms",
    ),
    (ev.Ended(seq=0, t_ns=0, how=ev.Ending.DONE), "Case ended: done"),
]


@pytest.mark.parametrize(("event", "told"), TOLD, ids=[type(event).__name__ for event, _ in TOLD])
def test_event_in_words(event: ev.Event, told: str) -> None:
    assert event_words(event) == told


def test_no_event_is_forgotten_here() -> None:
    assert {type(event) for event, _ in TOLD} == set(get_args(ev.Event))


def test_agents_words_stay_on_one_clean_line() -> None:
    note = ev.Note(seq=0, t_ns=0, text="a\nb\x1b[2J" + "x" * 500)
    told = event_words(note)
    assert told.isprintable()
    assert len(told) < 200


def test_lane_of_what_the_bench_missed_is_the_clients() -> None:
    assert LANE_OF[ev.Overdue] is Lane.CLIENT


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            fl.Fault(trigger=fl.OnFrame(command="SEND", direction=fl.Direction.TO_BROKER, k=2), action=fl.Drop()),
            "drop the 2nd SEND, client to broker",
        ),
        (
            fl.Fault(
                trigger=fl.OnFrame(command="ACK", direction=fl.Direction.TO_BROKER, k=11, times=0, where={"n": 1}),
                action=fl.Delay(30),
                scope=fl.Scope(connection=1),
            ),
            "delay by 30 ms the 11th ACK and all after it with n = 1, client to broker, on connection 1",
        ),
        (fl.Fault(trigger=fl.AtTime(5), action=fl.Cut(how=fl.CutHow.FIN)), "close the connection at 5 ms"),
        (fl.Fault(trigger=fl.AfterStep(3), action=fl.Refuse()), "refuse from step 3"),
    ],
)
def test_fault_in_words(fault: fl.Fault, told: str) -> None:
    assert fault_words(fault) == told


def test_receipt_says_when_what_and_on_which_frames(sample: Sample) -> None:
    assert receipts(sample.history(), sample.case())[0] == (
        "13.1 ms: fault 0 fired: hold on frame 23 (hold the 1st SEND_RECEIPT, broker to client)"
    )
