"""What is known of the client under test before the first Case: declared, not observed."""

from __future__ import annotations

import msgspec

from assay_conformance.model.case import ConfigValue


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
