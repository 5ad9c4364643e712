"""The package's public names, and its table of commands."""

from __future__ import annotations

import assay_conformance.broker as broker
from assay_conformance.broker.handlers import HANDLERS
from assay_conformance.broker.rules import UNSERVED


def test_public_names_exist() -> None:
    assert all(hasattr(broker, name) for name in broker.__all__)


def test_no_command_is_both_served_and_refused() -> None:
    assert not set(HANDLERS) & set(UNSERVED)
