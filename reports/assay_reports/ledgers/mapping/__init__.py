"""From a team's own producer and consumer logs to a ledger, as a small TOML file says."""

from __future__ import annotations

from assay_reports.ledgers.mapping.map_file import Map, read_map
from assay_reports.ledgers.mapping.mapping import Mapped, map_logs

__all__ = ["Map", "Mapped", "map_logs", "read_map"]
