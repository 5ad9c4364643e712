from __future__ import annotations

from assay_conformance.pulsar.checks.batching._costs import BYTES_OVER, Cost, compared
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check


@check("batching.larger-batches-save-bytes", of=compared)
def larger_batches_save_bytes(timeline: Timeline, costs: tuple[Cost, Cost]) -> Says:
    """batching.larger-batches-save-bytes: of two producers that batch alike messages, the one with more of them in a
    batch writes fewer bytes for each. Only full batches are compared, of messages that are all alike; what is written
    again is not counted."""
    smaller, larger = costs
    few, many = smaller.limits.messages, larger.limits.messages
    if not 0 < few < many or not smaller.full or not larger.full or len(set(larger.sent)) > 1:
        return
    of_few, of_many = (sum(unit.first.size for unit in cost.full) / len(cost.full) for cost in costs)
    if of_many / many <= of_few / few * BYTES_OVER:
        yield Exercised(larger.full[0].first)
        return
    yield breach(
        "more-bytes-a-message",
        f"producer {larger.handle} wrote {of_many / many:.1f} bytes a message in batches of {many}, and producer "
        f"{smaller.handle} {of_few / few:.1f} in batches of {few}; expected no more bytes for messages that are alike "
        "in larger batches",
        *(smaller.full[0].first, larger.full[0].first),
    )
