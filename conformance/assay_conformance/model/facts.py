"""What is known of the client under test before the first Case: declared, not observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from assay_conformance.model.case import SUITE_DEFAULTS, Case, ClientConfig, Config, ConfigValue


class ClientFacts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """From agent.toml. `fixed` are the constants the client's interface does not let us set: checks use them as bounds.

    `settable` are the suite's configuration keys the agent passes on; `defaults` the client's values where neither a
    Case nor the agent sets one. `words` are those that the client has of a key that takes one, where it has not all.
    `required`: by part and key, the keys beside which the client must be given this one too; none: always.
    """

    agent: str
    client: str
    client_version: str
    capabilities: frozenset[str]
    fixed: dict[str, ConfigValue] = {}
    settable: frozenset[str] = frozenset()
    defaults: dict[str, ConfigValue] = {}
    words: dict[str, tuple[str, ...]] = {}
    required: dict[str, dict[str, tuple[str, ...]]] = {}

    def with_required(self, part: str, config: Mapping[str, ConfigValue], known: Mapping[str, ConfigValue]) -> Config:
        """What a client must be given beside this configuration: as `known` has it, or its own default."""
        values = {**self.defaults, **known}
        wanted = self.required.get(part, {}).items()
        asked = [key for key, beside in wanted if not beside or any(config.get(other) for other in beside)]
        return {key: values[key] for key in asked if key not in config and key in values}

    def unsettable(self, case: Case) -> tuple[str, ...]:
        """The keys that the Case sets, and the client does not let be set: its own value is another one."""
        own = {**self.defaults, **self.fixed}
        config = (pair for config in _configs(case) for pair in config.items())
        return tuple(sorted({key for key, value in config if key not in self.settable and own.get(key) != value}))

    def has_words(self, config: Config) -> bool:
        """Whether the client has every word that this configuration sets."""
        return not any(True for _ in self._unknown(config))

    def unknown_words(self, case: Case) -> tuple[str, ...]:
        """What the Case sets, in its configuration or in that of a step, to a word that the client does not have."""
        return tuple(sorted({f"{key} {value}" for config in _configs(case) for key, value in self._unknown(config)}))

    def with_known_words(self, case: Case) -> Case:
        """The Case without the settings to words that the client does not have: their keys are left out."""
        if not self.unknown_words(case):
            return case
        steps = tuple(
            msgspec.structs.replace(step, args={**step.args, "config": self._known(step.args["config"])})
            if isinstance(step.args.get("config"), dict)
            else step
            for step in case.steps
        )
        parts = {part: self._known(getattr(case.config, part)) for part in case.config.__struct_fields__}
        return msgspec.structs.replace(case, steps=steps, config=ClientConfig(**parts))

    def _unknown(self, config: Config) -> Iterator[tuple[str, ConfigValue]]:
        return ((key, value) for key, value in config.items() if value not in self.words.get(key, (value,)))

    def _known(self, config: Config) -> Config:
        unknown = {key for key, _ in self._unknown(config)}
        return {key: value for key, value in config.items() if key not in unknown}

    def in_force(
        self, config: ClientConfig, part: str, key: str, own: Mapping[str, ConfigValue] | None = None
    ) -> ConfigValue | None:
        """A configuration value as it was in force: fixed by the client, else the step's `own`, else the Case's
        `config`, else the suite's or the client's default. `part` is `client`, `producer` or `consumer`."""
        if key in self.fixed:
            return self.fixed[key]
        if key in self.settable:
            configured: dict[str, ConfigValue] = getattr(config, part)
            for values in (own or {}, configured, SUITE_DEFAULTS[part]):
                if key in values:
                    return values[key]
        return self.defaults.get(key)


def _configs(case: Case) -> Iterator[Config]:
    yield from (getattr(case.config, part) for part in case.config.__struct_fields__)
    # A plan that is read again may hold anything there.
    yield from (config for step in case.steps if isinstance(config := step.args.get("config"), dict))
