"""batching.key-based-one-key-per-batch"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.lines import Unit
from assay_conformance.model.event import Frame, Meta
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.batching._keyed import KeyedCheck, quoted

NO_KEY = b"NONE_KEY"
"""What a client may write where there is none, and what Key_Shared takes for it (broker, Commands.NONE_KEY)."""


class KeyBasedOneKeyPerBatch(KeyedCheck):
    """The messages of an entry have one key, the ordering key where there is one, and the entry says which."""

    requirement = RequirementId("batching.key-based-one-key-per-batch")

    def left(self, unit: Unit, event: Frame, meta: Meta) -> None:
        keys = self.keys(unit)
        told = meta.ordering_key or (meta.key or "").encode()
        odd = next((key for key in keys if key != keys[0]), None)
        if meta.batch is not None:
            self.exercise(event)
        if odd is not None:
            self.breach(
                "keys-mixed",
                f"{unit.line}: the entry at {ms(event.t_ns)} holds messages with {quoted(keys[0])} and with "
                f"{quoted(odd)}",
                event,
            )
        elif keys and told not in ({keys[0]} if keys[0] else {b"", NO_KEY}):
            self.breach(
                "key-not-told",
                f"{unit.line}: the messages of the entry at {ms(event.t_ns)} have {quoted(keys[0])}; its metadata say "
                f"{quoted(told)}",
                event,
            )
