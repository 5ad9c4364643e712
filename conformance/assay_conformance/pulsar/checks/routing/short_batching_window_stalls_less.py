from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from assay_conformance.model.case import Config
from assay_conformance.model.event import Fired, Outcome
from assay_conformance.model.fault import OnFrame
from assay_conformance.pulsar.timeline import MS, Exercised, Says, Send, Timeline, breach, check, is_keyless, ms

_FREQUENCY = "batching_partition_switch_frequency"

Load = tuple[int, Sequence[Send]]
"""A producer by its handle, and its sends."""


def _pairs(timeline: Timeline) -> Iterator[tuple[Load, Load]]:
    """Yield producers under one load that differ in the length of their windows alone, the shorter first.

    A load is one only where both are asked for each message at about the same time, and whatever goes wrong does so for
    both.
    """
    setting, groups = timeline.view.producer_setting, dict[object, list[tuple[int, int]]]()
    for handle, opening in timeline.openings.items() if not _is_one_sided(timeline) else ():
        frequency, sends = setting(handle, _FREQUENCY), timeline.sends_of(handle)
        in_turn = setting(handle, "routing") == "round_robin" and setting(handle, "batching") is True
        if frequency and in_turn and sends and all(_went(send) for send in sends):
            own: Config = {**(opening.args.get("config") or {}), _FREQUENCY: 0}
            load = (len(sends), opening.args.get("topic"), *sorted(own.items()))
            groups.setdefault(load, []).append((int(frequency), handle))
    for group in groups.values():
        for (_, shorter), (_, longer) in pairwise(sorted(group)):
            ones, others = timeline.sends_of(shorter), timeline.sends_of(longer)
            pairs = zip(ones, others, strict=True)
            apart_ns = max(abs(one.invoke.t_ns - other.invoke.t_ns) for one, other in pairs)
            if not timeline.bounds.is_past("notice", 0, apart_ns):
                yield (shorter, ones), (longer, others)


def _is_one_sided(timeline: Timeline) -> bool:
    """Return whether something went wrong with single frames, of one producer or the other."""
    faults = timeline.view.case.faults
    triggers = (
        faults[fired.fault].trigger if fired.fault < len(faults) else None for fired in timeline.events.of(Fired)
    )
    return any(not isinstance(trigger, OnFrame) or trigger.times != 0 for trigger in triggers)


def _went(send: Send) -> bool:
    return send.outcome is Outcome.OK and is_keyless(send.invoke)


@check("routing.short-batching-window-stalls-less", of=_pairs)
def short_batching_window_stalls_less(timeline: Timeline, loads: tuple[Load, Load]) -> Says:
    """routing.short-batching-window-stalls-less: of two producers under one load, the longest wait from a call to its
    end is no longer with shorter windows. Where no send of the longer windows had to wait for others, nothing is
    shown."""
    (shorter, ones), (longer, others) = loads
    slow, other = max(ones, key=_wait_ns), max(others, key=_wait_ns)
    wait_ns, other_ns, end = _wait_ns(slow), _wait_ns(other), slow.completion
    if timeline.bounds.is_past("notice", other_ns, wait_ns) and end is not None:
        timeline.bounds.check_fair("notice", end.t_ns - wait_ns, end.t_ns, what="whether shorter windows stall more")
        yield breach(
            "stalls-more",
            f"a send of producer {shorter} waited {wait_ns // MS} ms, until {ms(end.t_ns)}, for its receipt; expected "
            f"at most the {other_ns // MS} ms of producer {longer}, which batches for longer",
            *(end, other.completion),
        )
    elif timeline.bounds.is_past("notice", min(map(_wait_ns, others)), other_ns) and other.completion is not None:
        yield Exercised(other.completion)


def _wait_ns(send: Send) -> int:
    return 0 if send.completion is None else send.completion.t_ns - send.invoke.t_ns
