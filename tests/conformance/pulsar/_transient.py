"""Non-persistent topics, both ways."""

from __future__ import annotations

from assay_conformance.history.script import entry_id

NOWHERE = entry_id(0)
