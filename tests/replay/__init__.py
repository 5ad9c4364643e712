"""Replay against reality: recorded traffic of a real broker, its client's side fed to the reference broker."""

from __future__ import annotations

from tests.replay.harness import replay
from tests.replay.reading import Recording, read, read_folder

__all__ = ["Recording", "read", "read_folder", "replay"]
