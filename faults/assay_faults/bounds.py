"""Bounds of what this package reads and waits for, each with its unit and its reason."""

from __future__ import annotations

from typing import Final

MOST_ANSWER_BYTES: Final = 1 << 20
"""Of one answer of a toxiproxy server: it lists thousands of proxies in that."""
