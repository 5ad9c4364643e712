from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.letters import Kind, Letter


@check("dead-letter.not-batched", of=lambda timeline: timeline.letters.of(Kind.DEAD))
def not_batched(timeline: Timeline, letter: Letter) -> Says:
    """dead-letter.not-batched: a dead letter is sent unbatched. In a batch it would wait for other messages, and the
    acknowledgment of its original for the batch."""
    yield Exercised(letter.frame)
    if letter.frame.meta is not None and letter.frame.meta.batch is not None:
        yield breach(
            "batched",
            f"{letter} left at {ms(letter.frame.t_ns)} in a batch of {letter.frame.meta.batch}; expected an entry of "
            "its own",
            letter.frame,
        )
