"""The frame link over TCP, in front of brokers that are not ours."""

from __future__ import annotations

from assay_faults.proxy.proxy import FrameProxy

__all__ = ["FrameProxy"]
