"""Every event and fault has words, and no text of an agent can do more than be read."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from assay_conformance.model import event as ev
from assay_conformance.model import fault as fl
from assay_reports import words
from assay_reports.text import clean, counted, one_line
from assay_reports.words import LANE_OF, Lane, event_words, fault_words, receipts

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
    assert set(words._EVENTS) == kinds
    assert set(LANE_OF) == kinds


def test_every_action_has_words() -> None:
    assert set(words._ACTIONS) == set(get_args(fl.Action))


def test_every_event_of_a_history_has_words(sample: Sample) -> None:
    assert all(event_words(event) for event in sample.history())


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
