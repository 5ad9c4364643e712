"""Advice for a load: each setting with its formula, what closes batches, and what is wrong with it all."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from assay_conformance.model.case import Topology
from assay_conformance.tuning.bounds import MIB, SETTINGS_MOST
from assay_conformance.tuning.closing import Regime, regimes
from assay_conformance.tuning.formulas import DELAY_MS, FORMULAS, Load, Settings, settings_of
from assay_conformance.tuning.options import OPTIONS, TITLES, Language


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """`options`: what each client calls it; null where it has no such option."""

    setting: str
    value: int
    unit: str
    formula: str
    source: str
    options: dict[Language, str | None]


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    load: Load
    settings: tuple[Recommendation, ...]
    pending_of_each_partition: int
    closing: tuple[Regime, ...]
    warnings: tuple[str, ...]


def advise(load: Load) -> Advice:
    settings = settings_of(load)
    return Advice(
        load=load,
        settings=tuple(
            Recommendation(
                setting=formula.setting,
                value=getattr(settings, formula.setting),
                unit=formula.unit,
                formula=formula.text,
                source=formula.source,
                options=OPTIONS[formula.setting],
            )
            for formula in FORMULAS
        ),
        pending_of_each_partition=settings.pending_of_each(load.partitions),
        closing=regimes(load, settings),
        warnings=tuple(text for warning in WARNINGS if (text := warning(load, settings))),
    )


def _memory_is_short(load: Load, settings: Settings) -> str:
    limit = settings.memory_limit_bytes
    queue = settings.pending_of_each(load.partitions) or settings.max_pending_messages
    wanted = queue * load.partitions * load.message_bytes
    if limit >= wanted:
        return ""
    messages = limit // load.message_bytes
    each = messages // load.partitions
    share = (
        f"at {each} messages a partition"
        if each
        else f"with room for {messages} messages in all, fewer than one for each of {load.partitions} partitions"
    )
    return (
        f"the memory limit, {_mib(limit)}, is below what a full queue on every partition takes, {_mib(wanted)}: memory "
        f"binds before the queues of {queue} do, {share}"
    )


def _no_share_of_the_queue(load: Load, settings: Settings) -> str:
    if settings.pending_of_each(load.partitions):
        return ""
    return (
        f"max_pending_messages_across_partitions, {settings.max_pending_messages_across_partitions}, divided by "
        f"{load.partitions} partitions is 0, which clients take for no limit at all; expected at least "
        f"{load.partitions}"
    )


def _queue_below_a_batch(load: Load, settings: Settings) -> str:
    each, batch = settings.pending_of_each(load.partitions), settings.batching_max_messages
    if not each or batch <= each:
        return ""
    return (
        f"a partition's queue of {each} is shorter than a batch of {batch}: no batch closes by count, each waits out "
        "its publish delay, and none is built while another waits; expected max_pending_messages_across_partitions of "
        f"at least {settings.max_pending_messages * load.partitions}, or batching_max_messages of at most "
        f"{each // 2 or 1}"
    )


def _half_of_the_queue_is_none(load: Load, settings: Settings) -> str:
    del load
    if settings.batching_max_messages:
        return ""
    return (
        f"half of max_pending_messages, {settings.max_pending_messages}, is 0, which clients take for no limit or "
        "refuse; expected at least 2"
    )


def _batch_bytes_are_none(load: Load, settings: Settings) -> str:
    if settings.batching_max_bytes:
        return ""
    return (
        f"{settings.memory_limit_bytes} bytes of memory, halved and shared by {load.partitions} partitions, are 0 "
        "bytes a batch, which clients take for no limit or refuse; expected more memory or fewer partitions"
    )


def _message_fills_a_batch(load: Load, settings: Settings) -> str:
    if not settings.batching_max_bytes or load.message_bytes * 2 <= settings.batching_max_bytes:
        return ""
    return (
        f"a batch of {settings.batching_max_bytes} bytes holds no two messages of {load.message_bytes}: every message "
        "leaves alone, and batching saves nothing"
    )


def _message_is_too_large(load: Load, settings: Settings) -> str:
    del settings
    most = Topology().max_message_bytes
    if load.message_bytes <= most:
        return ""
    return (
        f"a message of {load.message_bytes} bytes is more than a broker takes unless told (maxMessageSize, "
        f"{_mib(most)}): producers need chunking, which excludes batching, or brokers a greater limit"
    )


def _delay_out_of_range(load: Load, settings: Settings) -> str:
    del load
    least, most = DELAY_MS
    delay_ms = settings.batching_max_publish_delay_ms
    if least <= delay_ms <= most:
        return ""
    return f"a publish delay of {delay_ms} ms is outside of what the template means, {least} to {most} ms"


def _queue_below_the_rate(load: Load, settings: Settings) -> str:
    each = settings.pending_of_each(load.partitions)
    wanted = load.partition_rate_per_s * load.round_trip_ms / 1_000
    if not each or wanted <= each:
        return ""
    return (
        f"{load.partition_rate_per_s:g} messages a second that wait {load.round_trip_ms:g} ms for their receipts are "
        f"{wanted:.0f} on a partition, and its queue holds {each}: the producer cannot keep this rate"
    )


def _more_than_clients_take(load: Load, settings: Settings) -> str:
    del load
    beyond = {
        setting: (getattr(settings, setting), most, kind)
        for setting, (most, kind) in SETTINGS_MOST.items()
        if getattr(settings, setting) > most
    }
    return (
        "more than clients take: "
        + "; ".join(
            f"{setting} = {value}, expected at most {most} ({kind})" for setting, (value, most, kind) in beyond.items()
        )
        if beyond
        else ""
    )


def _options_are_missing(load: Load, settings: Settings) -> str:
    del load, settings
    missing = {
        TITLES[language]: [setting for setting, names in OPTIONS.items() if names[language] is None]
        for language in Language
    }
    return "no such option: " + "; ".join(f"{title}: {', '.join(names)}" for title, names in missing.items() if names)


WARNINGS: tuple[Callable[[Load, Settings], str], ...] = (
    _memory_is_short,
    _no_share_of_the_queue,
    _queue_below_a_batch,
    _half_of_the_queue_is_none,
    _batch_bytes_are_none,
    _message_fills_a_batch,
    _message_is_too_large,
    _delay_out_of_range,
    _queue_below_the_rate,
    _more_than_clients_take,
    _options_are_missing,
)


def _mib(size: int) -> str:
    return f"{size / MIB:.1f} MiB"
