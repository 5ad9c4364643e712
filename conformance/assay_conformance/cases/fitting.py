"""Cases fitted to a client that takes longer times only: every time of such a Case grows alike, so that their order
stays. And to one behind whose key of producers or consumers stands an option of the client: it is set by that one.

A client that refuses short acknowledgment time-outs keeps their clauses all the same, and they can be asked of it with
the shortest that it takes. What its agent.toml states as a constant says how short that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import msgspec

from assay_conformance.model.case import Case, ClientConfig, Config, ConfigValue, Limits
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.requirement import RequirementId

MOST_TIMES: Final = 5
"""A Case that would take longer than so many times its time is not for a fast run: it is left as it is."""

MOST_DRAWN_MS: Final = 1_000
"""Drawn Cases end too soon for a longer one to be over."""

MOMENTS: Final = frozenset({"event_time_ms", "deliver_at_ms", "publish_time_ms"})
"""Arguments of steps that name a moment, no length of time."""


@dataclass(frozen=True, slots=True)
class Least:
    """A configuration key of Cases whose value is to be `times` the constant `stated` of agent.toml at least.

    It is asked for by Cases that need the capability `unless`, or, where that is None, by those that set `stated`
    itself, to less than the client's.
    """

    key: str
    stated: str
    unless: str | None = None
    times: int = 1


LEAST: Final = (
    Least("ack_timeout_ms", "ack_timeout_min_ms", unless="short_ack_timeout"),
    Least("partitions_update_ms", "partitions_update_min_ms", unless="short_partitions_update"),
    Least("nack_delay_ms", "nack_precision_ms", times=4),
)


def fitted(case: Case, facts: ClientFacts) -> Case:
    """Return the Case with times that the client takes.

    It is unchanged where the client takes its own, or would not in any time to wait for.
    """
    case = _set_by_the_client(case, facts)
    asked = [least for least in LEAST if _is_asked(case, facts, least)]
    grown = max((_grown(case, facts, least) for least in asked), default=0.0)
    if not 0 < grown <= MOST_TIMES:
        return case
    kept = tuple(word for word in case.capabilities if word not in {least.unless for least in asked})
    fitting = case if grown <= 1 else _stretched(case, grown)
    return msgspec.structs.replace(fitting, capabilities=kept)


def _set_by_the_client(case: Case, facts: ClientFacts) -> Case:
    """Return the Case with its keys of producers and consumers set by the client's option that stands behind them.

    That is so only where the Case leaves the option to the client.
    """
    parts = {part: dict(getattr(case.config, part)) for part in case.config.__struct_fields__}
    client, moved = parts["client"], dict[str, ConfigValue]()
    for key, behind in facts.same_as.items():
        values = {config[key] for part, config in parts.items() if part != "client" and key in config}
        if len(values) != 1 or behind in client:
            continue
        moved[behind] = values.pop()
        for part, config in parts.items():
            if part != "client":
                config.pop(key, None)
    client.update(moved)
    return msgspec.structs.replace(case, config=ClientConfig(**parts)) if moved else case


STATED: Final = {RequirementId("ack-timeout.minimum-enforced"): "ack_timeout_min_ms"}
"""Requirements about a constant of the client: of one that states none they cannot be asked."""


def unstated(case: Case, facts: ClientFacts) -> tuple[str, ...]:
    """Return the constants that all requirements of a Case are about, and that agent.toml does not state."""
    about = [STATED.get(requirement) for requirement in case.requirements]
    lacking = [stated for stated in about if stated is not None and stated not in facts.fixed]
    return tuple(dict.fromkeys(lacking)) if len(lacking) == len(about) else ()


def drawable(facts: ClientFacts) -> frozenset[str]:
    """Return the capabilities that drawn Cases may need: a short time is raised to what the client takes."""
    stated = ((least.unless, _stated(facts, least)) for least in LEAST if least.unless is not None)
    return facts.capabilities.union(unless for unless, least_ms in stated if 0 < least_ms <= MOST_DRAWN_MS)


def raised(case: Case, facts: ClientFacts) -> Case:
    """Return a drawn Case with no time that is shorter than the client takes.

    Its other times stay, for none of its steps waits for these.
    """
    stated = {least.key: _stated(facts, least) for least in LEAST if least.unless is not None}
    if not any(0 < value < stated[key] for key in stated for value in _values(case, key)):
        return case
    steps = tuple(
        msgspec.structs.replace(step, args={**step.args, "config": _raised(step.args["config"], stated)})
        if isinstance(step.args.get("config"), dict)
        else step
        for step in case.steps
    )
    parts = {part: _raised(getattr(case.config, part), stated) for part in case.config.__struct_fields__}
    return msgspec.structs.replace(case, steps=steps, config=ClientConfig(**parts))


def _raised(config: Config, stated: Mapping[str, int]) -> Config:
    """Raise the times of a configuration to what is stated; 0 is no time: it turns something off."""
    return {
        key: max(value, stated.get(key, 0)) if isinstance(value, int) and value > 0 else value
        for key, value in config.items()
    }


def _stated(facts: ClientFacts, least: Least) -> int:
    """Return what agent.toml states; 0 where it states nothing."""
    stated = facts.fixed.get(least.stated)
    return stated if isinstance(stated, int) else 0


def _is_asked(case: Case, facts: ClientFacts, least: Least) -> bool:
    stated = _stated(facts, least)
    if not stated:
        return False
    if least.unless is None:
        return any(value < stated for value in _values(case, least.stated))
    return least.unless in case.capabilities and least.unless not in facts.capabilities


def _grown(case: Case, facts: ClientFacts, least: Least) -> float:
    """Return how many times as long as they are its times have to be."""
    values = [value for value in _values(case, least.key) if value > 0]
    return least.times * _stated(facts, least) / min(values) if values else 0.0


def _values(case: Case, key: str) -> Iterator[float]:
    for config in _configs(case):
        value: ConfigValue | None = config.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield value


def _configs(case: Case) -> Iterator[Config]:
    yield from (getattr(case.config, part) for part in case.config.__struct_fields__)
    yield from (config for step in case.steps if isinstance(config := step.args.get("config"), dict))


def _stretched(case: Case, times: float) -> Case:
    plain = msgspec.to_builtins(case)
    grown = {part: _longer(plain[part], times) for part in ("steps", "faults", "config") if part in plain}
    limits = {
        name: ceil(times * getattr(case.limits, name)) if name.endswith("_ms") else getattr(case.limits, name)
        for name in Limits.__struct_fields__
    }
    title = f"{case.title}; all times are {times:.3g} times as long, as the client takes no shorter ones"
    return msgspec.convert({**plain, **grown, "limits": limits, "title": title}, Case)


def _longer(plain: Any, times: float) -> Any:
    if isinstance(plain, dict):
        return {
            key: ceil(times * value) if _is_time(key, value) else _longer(value, times) for key, value in plain.items()
        }
    return [_longer(one, times) for one in plain] if isinstance(plain, (list, tuple)) else plain


def _is_time(key: str, value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and (key == "ms" or key.endswith("_ms")) and key not in MOMENTS
