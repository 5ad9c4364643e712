"""What windows of two lengths cost, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.pulsar._consuming import client

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import ConfigValue
from assay_conformance.model.fault import Direction, Fault, Hold, OnFrame
from assay_conformance.pulsar.checks.routing.short_batching_window_stalls_less import short_batching_window_stalls_less

OTHER = 3
ALONE_MS = 150
"""How long a send waits that has nobody before it."""


def _waits(
    short_ms: int, long_ms: int, *, apart_ms: int = 0, harm: OnFrame | None = None, **apart: ConfigValue
) -> tuple[list[str], int]:
    """How long a second send waits with windows of one delay, and with windows of ten; `apart`: what else differs,
    `apart_ms` how much later the second producer is asked."""
    story = Script()
    for handle, delays in ((PRODUCER, 1), (OTHER, 10)):
        config = {"batching_partition_switch_frequency": delays, **(apart if handle == OTHER else {})}
        story.complete(story.invoke("open_producer", handle, args={"topic": "t", "config": config}))
    for number, waits in enumerate(({PRODUCER: ALONE_MS, OTHER: ALONE_MS}, {PRODUCER: short_ms, OTHER: long_ms})):
        began_ms = story.after(1_000).send(number, PRODUCER).t_ns / 1e6
        story.after(apart_ms).send(number, OTHER)
        late = {PRODUCER: 0, OTHER: apart_ms}
        for handle in sorted(waits, key=lambda handle: waits[handle] + late[handle]):
            story.at(began_ms + late[handle] + waits[handle])
            story.ok(number, handle)
    if harm is not None:
        story.fired(action="hold")
    faults = () if harm is None else (Fault(trigger=harm, action=Hold()),)
    facts = client(routing="round_robin", batching=True)
    settable = frozenset({"batching_partition_switch_frequency", *apart})
    case = msgspec.structs.replace(ANY_CASE, faults=faults)
    said = trial(
        short_batching_window_stalls_less, story.done(), case, msgspec.structs.replace(facts, settable=settable)
    )
    return [finding.code for finding in said.findings], said.exercised


def test_longer_windows_that_cost_more() -> None:
    assert _waits(short_ms=200, long_ms=500) == ([], 1)


def test_longer_windows_that_cost_nothing_show_nothing() -> None:
    assert _waits(short_ms=200, long_ms=190) == ([], 0)


def test_shorter_windows_that_cost_more_are_found() -> None:
    assert _waits(short_ms=500, long_ms=200)[0] == ["stalls-more"]


def test_producers_that_differ_otherwise_are_not_compared() -> None:
    assert _waits(short_ms=500, long_ms=200, batching_max_messages=7) == ([], 0)


def test_producers_that_are_asked_at_other_times_are_not_compared() -> None:
    assert _waits(short_ms=500, long_ms=200, apart_ms=150) == ([], 0)


def _receipt(times: int) -> OnFrame:
    return OnFrame(command="SEND_RECEIPT", direction=Direction.TO_CLIENT, times=times)


def test_producers_of_which_one_is_harmed_are_not_compared() -> None:
    assert _waits(short_ms=500, long_ms=200, harm=_receipt(times=1)) == ([], 0)


def test_producers_that_are_harmed_alike_are_compared() -> None:
    assert _waits(short_ms=500, long_ms=200, harm=_receipt(times=0))[0] == ["stalls-more"]
