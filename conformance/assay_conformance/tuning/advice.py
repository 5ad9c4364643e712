"""Advice for a load: each setting with its formula, what closes batches, and what is wrong with it all."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from assay_conformance.model.case import Topology
from assay_conformance.tuning.bounds import MIB, SETTINGS_MOST
from assay_conformance.tuning.closing import Regime, regimes
from assay_conformance.tuning.formulas import (
    DELAY_MS,
    FORMULAS,
    LEAST_BATCH,
    MACHINE_CLASSES_MB,
    Formula,
    Load,
    Settings,
    pending_in_force,
    settings_of,
)
from assay_conformance.tuning.options import OPTIONS, TITLES, Language

AS_GIVEN = "as given"


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """`value`: null where batching is off, and the setting means nothing. `options`: what each client calls it; null
    where it has no such option."""

    setting: str
    value: int | None
    unit: str
    formula: str
    source: str
    options: dict[Language, str | None]


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """`pending_of_each_partition`: by the limit that comes first, which `pending_because` names. `closing`: empty where
    batching is off."""

    load: Load
    settings: tuple[Recommendation, ...]
    pending_of_each_partition: int
    pending_because: str
    closing: tuple[Regime, ...]
    warnings: tuple[str, ...]


def advise(load: Load) -> Advice:
    settings = settings_of(load)
    return Advice(
        load=load,
        settings=tuple(_recommended(formula, load, settings) for formula in FORMULAS),
        pending_of_each_partition=pending_in_force(load),
        pending_because=_first_limit(load, settings),
        closing=regimes(load, settings),
        warnings=tuple(text for warning in WARNINGS if (text := warning(load, settings))),
    )


def _recommended(formula: Formula, load: Load, settings: Settings) -> Recommendation:
    chosen = bool(formula.chosen_by and getattr(load, formula.chosen_by))
    means_nothing = formula.of_batches and not settings.batching
    return Recommendation(
        setting=formula.setting,
        value=None if means_nothing else getattr(settings, formula.setting),
        unit=formula.unit,
        formula=AS_GIVEN if chosen else formula.text,
        source=formula.source,
        options=OPTIONS[formula.setting],
    )


def _first_limit(load: Load, settings: Settings) -> str:
    """Return the limit that comes first.

    If a limit of all partitions gives the same number, the queue's limit was derived from it.
    """
    pending = pending_in_force(load)
    if load.memory_mb and pending == max(1, load.memory_mb * MIB // load.partitions // load.message_bytes):
        return f"memory_limit_bytes, {_mib(settings.memory_limit_bytes)}, holds no more on each of all partitions"
    if pending == settings.max_pending_messages_across_partitions // load.partitions and load.max_pending_across:
        return "max_pending_messages_across_partitions, divided by the partitions, comes first"
    return "max_pending_messages comes first"


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


def _memory_is_much(load: Load, settings: Settings) -> str:
    most_mb = max(MACHINE_CLASSES_MB.values())
    if load.memory_mb or settings.memory_limit_bytes <= most_mb * MIB:
        return ""
    return (
        f"full queues take {_mib(settings.memory_limit_bytes)} in each client, and the template gives its largest "
        f"machines {most_mb} MiB; with --machine-class, queues are as long as the memory that you have allows"
    )


def _no_share_of_the_queue(load: Load, settings: Settings) -> str:
    if settings.pending_of_each(load.partitions):
        return ""
    return (
        f"max_pending_messages_across_partitions, {settings.max_pending_messages_across_partitions}, divided by "
        f"{load.partitions} partitions is 0, which clients take for no limit at all; expected at least "
        f"{load.partitions}"
    )


def _queue_is_too_short_for_batches(load: Load, settings: Settings) -> str:
    if settings.batching_max_messages >= LEAST_BATCH:
        return ""
    return (
        f"batching is off: a batch is half of what a partition may have pending, {pending_in_force(load)}, and C++ and "
        f"Python refuse one of fewer than {LEAST_BATCH} messages; batches need at least {2 * LEAST_BATCH} pending"
    )


def _message_fills_a_batch(load: Load, settings: Settings) -> str:
    short = settings.batching_max_messages < LEAST_BATCH
    if short or load.message_bytes * LEAST_BATCH <= settings.batching_max_bytes:
        return ""
    return (
        f"batching is off: a batch of {settings.batching_max_bytes} bytes holds no two messages of "
        f"{load.message_bytes}, so every message would leave alone"
    )


def _message_is_too_large(load: Load, settings: Settings) -> str:
    del settings
    most = Topology().max_message_bytes
    if load.message_bytes <= most:
        return ""
    return (
        f"a message of {load.message_bytes} bytes is more than a broker takes by default (maxMessageSize, "
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
    lacking = (f"{title} lacks {', '.join(names)}" for title, names in missing.items() if names)
    return "not every client has every setting: " + "; ".join(lacking)


WARNINGS: tuple[Callable[[Load, Settings], str], ...] = (
    _memory_is_short,
    _memory_is_much,
    _no_share_of_the_queue,
    _queue_is_too_short_for_batches,
    _message_fills_a_batch,
    _message_is_too_large,
    _delay_out_of_range,
    _queue_below_the_rate,
    _more_than_clients_take,
    _options_are_missing,
)


def _mib(size: int) -> str:
    return f"{size / MIB:.1f} MiB"
