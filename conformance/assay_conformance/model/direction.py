"""Which way something travels between a client and its brokers."""

from __future__ import annotations

from enum import StrEnum


class Direction(StrEnum):
    TO_BROKER = "c2b"
    TO_CLIENT = "b2c"
