"""What to set a producer to: a template of formulas, and which limit closes its batches under them."""

from assay_conformance.tuning.advice import Advice, Recommendation, advise
from assay_conformance.tuning.bounds import BOUNDS, Bound
from assay_conformance.tuning.closing import CLOSINGS, Closing, Regime, Room, closing
from assay_conformance.tuning.formulas import FORMULAS, MACHINE_CLASSES_MB, Formula, Load, Settings, settings_of
from assay_conformance.tuning.options import JAVA_DEFAULTS, OPTIONS, Language

__all__ = [
    "BOUNDS",
    "CLOSINGS",
    "FORMULAS",
    "JAVA_DEFAULTS",
    "MACHINE_CLASSES_MB",
    "OPTIONS",
    "Advice",
    "Bound",
    "Closing",
    "Formula",
    "Language",
    "Load",
    "Recommendation",
    "Regime",
    "Room",
    "Settings",
    "advise",
    "closing",
    "settings_of",
]
