"""What is known of the client under test before the first Case: declared, not observed."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay_conformance.model.case import SUITE_DEFAULTS, ClientConfig, ConfigValue


class ClientFacts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """From agent.toml. `fixed` are the constants the client's interface does not let us set: checks use them as bounds.

    `settable` are the suite's configuration keys the agent passes on; `defaults` the client's values where neither a
    Case nor the agent sets one.
    """

    agent: str
    client: str
    client_version: str
    capabilities: frozenset[str]
    fixed: dict[str, ConfigValue] = {}
    settable: frozenset[str] = frozenset()
    defaults: dict[str, ConfigValue] = {}

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
