from assay_conformance.pulsar.checks.dead_letter._whole_copy import judge_whole_copy
from assay_conformance.pulsar.timeline import Says, Timeline, check
from assay_conformance.pulsar.timeline.letters import Kind, Letter


@check("dead-letter.copy-is-complete", of=lambda timeline: timeline.letters.of(Kind.DEAD))
def dead_letter_copy_is_complete(timeline: Timeline, letter: Letter) -> Says:
    """dead-letter.copy-is-complete: a dead letter has the payload, keys and properties of its original, and names it in
    properties (topic and message id)."""
    yield from judge_whole_copy(timeline, letter)
