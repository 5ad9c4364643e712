"""Moved to `judging.tolerance`; the names stay here for one release."""

from assay_conformance.judging.tolerance import MS, TOLERANCES, HeldUp, LoadRecord, Timing, Tolerance

__all__ = ["MS", "TOLERANCES", "HeldUp", "LoadRecord", "Timing", "Tolerance"]
