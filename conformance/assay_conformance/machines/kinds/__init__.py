"""Kinds of applications: what they live in, the scenes that bring it about, and harm of their own.

Each row is one: it buries what it cannot use, reads several topics, goes away with work in its hands, fills batches.
Its first scene is of its kind; what follows is anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay_conformance.machines.kinds.acking import ACKING
from assay_conformance.machines.kinds.contention import COMPANY
from assay_conformance.machines.kinds.kind import WorkloadKind
from assay_conformance.machines.kinds.leaving import LEAVING
from assay_conformance.machines.kinds.limits import LIMITS
from assay_conformance.machines.kinds.listening import LISTENING
from assay_conformance.machines.kinds.nacking import REFUSING
from assay_conformance.machines.kinds.names import NAMES
from assay_conformance.machines.kinds.opening import OPENING
from assay_conformance.machines.kinds.partitions import PARTITIONS
from assay_conformance.machines.kinds.reading import READING, SEEKING
from assay_conformance.machines.kinds.sending import WRITING

CONSUMING: Mapping[str, WorkloadKind] = {**REFUSING, **READING, **COMPANY, **ACKING, **SEEKING, **LEAVING, **LISTENING}
SENDING: Mapping[str, WorkloadKind] = {**WRITING, **NAMES, **PARTITIONS, **OPENING}
KINDS: Mapping[str, WorkloadKind] = {**CONSUMING, **SENDING, **LIMITS}

__all__ = ["CONSUMING", "KINDS", "LIMITS", "SENDING", "WorkloadKind"]
