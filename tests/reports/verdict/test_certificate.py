"""What a certificate says: rows with their evidence, broker-side rows apart, and profiles claimed or not."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from assay_conformance.model.event import Witness
from assay_conformance.model.requirement import Level, Profile, Side
from assay_conformance.model.verdict import Grade, Judgement, Verdict
from assay_reports.certificate import Certificate, Claim, certificate, read_certificate, render

Sample = Any

ALL = frozenset(Witness)
KEEPS, AGAIN, BROKER = "resend.keeps-order", "resend.pending-sends-resent", "ack.broker-keeps"
FLUSHES = "ack.flush-on-close"
SENDING = Profile(name="sending", title="Sends", capabilities=("producer",), about=(), chapters=("resend",))
KEPT_BOTH = (Verdict.PASS, Verdict.PASS)


def certified(
    sample: Sample, *judgements: Judgement, witnessed: Set[Witness] = ALL, complete: bool = True, **run: Any
) -> Certificate:
    """Of a run under a catalogue with one profile, of the two requirements on resending."""
    report = sample.report(*judgements, run=sample.run(build="sha256:build", **run))
    return certificate(
        report.run,
        report.verdicts,
        replace(sample.catalogue, profiles={"sending": SENDING}),
        lambda _case, _attempt: witnessed,
        run_digest="sha256:run",
        complete=complete,
    )


def claim(sample: Sample, *judgements: Judgement, **fields: Any) -> Claim:
    (one,) = certified(sample, *judgements, **fields).profiles
    return one


def both(sample: Sample, one: Judgement | None = None) -> tuple[Judgement, Judgement]:
    return (one or sample.judged(), sample.judged(requirement=AGAIN))


def test_certificate_names_client_build_catalogue_and_run(sample: Sample) -> None:
    found = certified(sample, *both(sample))
    assert (found.subject.client, found.subject.version, found.build) == ("pulsar-client", "3.13.0", "sha256:build")
    assert (found.catalogue, found.run_digest) == (sample.catalogue.revision, "sha256:run")


def test_row_holds_verdict_count_and_evidence(sample: Sample) -> None:
    (row,) = certified(sample, sample.judged(exercised=3)).requirements
    assert (row.requirement, row.verdict, row.exercised, row.grade) == (KEEPS, Verdict.PASS, 3, Grade.A)


def test_broker_side_stands_apart(sample: Sample) -> None:
    found = certified(sample, sample.judged(), sample.judged(requirement=BROKER))
    assert [row.requirement for row in found.requirements] == [KEEPS]
    assert [(row.requirement, row.side) for row in found.broker_side] == [(BROKER, Side.BROKER)]


def test_evidence_of_a_breach_is_its_best_proof(sample: Sample) -> None:
    findings = (sample.finding(grade=Grade.C), sample.finding(grade=Grade.B))
    (row,) = certified(sample, sample.judged(Verdict.FAIL, findings=findings)).requirements
    assert (row.grade, row.codes) == (Grade.B, ("out-of-order",))


@pytest.mark.parametrize(
    ("witnessed", "grade"),
    [
        ({Witness.AGENT, Witness.WIRE, Witness.BENCH}, Grade.A),
        ({Witness.BROKER, Witness.BENCH}, Grade.B),
        ({Witness.AGENT, Witness.BENCH}, Grade.C),
    ],
)
def test_evidence_of_what_was_kept_is_who_saw_it(sample: Sample, witnessed: Set[Witness], grade: Grade) -> None:
    (row,) = certified(sample, sample.judged(), witnessed=witnessed).requirements
    assert row.grade is grade


def test_requirement_that_was_never_exercised_has_no_evidence(sample: Sample) -> None:
    (row,) = certified(sample, sample.judged(Verdict.UNSUPPORTED)).requirements
    assert (row.exercised, row.grade) == (0, None)


# --- claims -----------------------------------------------------------------------------------------------------------


def test_profile_whose_every_must_was_kept_is_claimed(sample: Sample) -> None:
    assert claim(sample, *both(sample)) == Claim(profile="sending", title="Sends", claimed=True, requirements=2)


def test_capability_that_was_not_declared_is_the_only_reason_needed(sample: Sample) -> None:
    facts = msgspec.structs.replace(sample.run().facts, capabilities=frozenset())
    assert claim(sample, facts=facts).because == ("not declared: producer",)


@pytest.mark.parametrize(("declared", "because"), [("batching", ()), ("seek", (f"{AGAIN}: not judged in this run",))])
def test_must_that_needs_more_is_asked_of_those_who_have_it(
    sample: Sample, declared: str, because: tuple[str, ...]
) -> None:
    stated = dict(sample.catalogue.requirements)
    stated[AGAIN] = msgspec.structs.replace(stated[AGAIN], capabilities=("seek",))
    facts = msgspec.structs.replace(sample.run().facts, capabilities=frozenset({"producer", declared}))
    report = sample.report(sample.judged(), run=sample.run(facts=facts))
    catalogue = replace(sample.catalogue, requirements=stated, profiles={"sending": SENDING})
    (claim,) = certificate(
        report.run, report.verdicts, catalogue, lambda _case, _attempt: ALL, run_digest="", complete=True
    ).profiles
    assert claim.because == because


def acknowledging(sample: Sample, *judgements: Judgement, **stated: Any) -> Claim:
    """The claim of a profile that has one requirement of a client: to flush, a SHOULD unless stated otherwise."""
    flushes = msgspec.structs.replace(sample.catalogue.requirements[FLUSHES], **stated)
    profile = msgspec.structs.replace(SENDING, name="acknowledging", chapters=("ack",))
    catalogue = replace(
        sample.catalogue,
        requirements={**sample.catalogue.requirements, FLUSHES: flushes},
        profiles={profile.name: profile},
    )
    report = sample.report(*judgements, run=sample.run())
    (claim,) = certificate(
        report.run, report.verdicts, catalogue, lambda _case, _attempt: ALL, run_digest="", complete=True
    ).profiles
    return claim


def test_profile_without_a_must_is_claimed_by_its_shoulds(sample: Sample) -> None:
    assert acknowledging(sample, sample.judged(requirement=FLUSHES)).claimed


def test_profile_without_a_must_is_not_claimed_beside_a_warning(sample: Sample) -> None:
    warned = sample.judged(Verdict.WARN, "left-open", requirement=FLUSHES)
    assert acknowledging(sample, warned).because == (f"{FLUSHES}: warn (left-open)",)


def test_warning_of_a_profile_that_has_musts_does_not_count(sample: Sample) -> None:
    stated = dict(sample.catalogue.requirements)
    stated[AGAIN] = msgspec.structs.replace(stated[AGAIN], level=Level.SHOULD)
    report = sample.report(sample.judged(), sample.judged(Verdict.WARN, "late", requirement=AGAIN), run=sample.run())
    catalogue = replace(sample.catalogue, requirements=stated, profiles={"sending": SENDING})
    (claim,) = certificate(
        report.run, report.verdicts, catalogue, lambda _case, _attempt: ALL, run_digest="", complete=True
    ).profiles
    assert claim.claimed


def test_profile_that_is_asked_of_others_says_of_whom(sample: Sample) -> None:
    assert acknowledging(sample, capabilities=("seek",)).because == ("asked only of clients that declare more: seek",)


def test_profile_of_what_clients_are_free_in_is_not_claimed(sample: Sample) -> None:
    assert acknowledging(sample, level=Level.MAY).because == ("it asks nothing",)


def test_must_that_was_not_judged_is_not_claimed(sample: Sample) -> None:
    assert claim(sample, sample.judged()).because == (f"{AGAIN}: not judged in this run",)


def test_failure_that_is_listed_is_no_claim(sample: Sample) -> None:
    broken = sample.judged(Verdict.FAIL, "out-of-order")
    assert claim(sample, *both(sample, broken)).because == (f"{KEEPS}: fail (out-of-order)",)


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict.UNTESTABLE,
        Verdict.INCONCLUSIVE,
        Verdict.INVALID,
        Verdict.HARNESS_ERROR,
        Verdict.UNAVAILABLE,
        Verdict.UNSUPPORTED,
    ],
)
def test_must_without_a_decision_is_not_claimed(sample: Sample, verdict: Verdict) -> None:
    assert claim(sample, *both(sample, sample.judged(verdict))).because == (f"{KEEPS}: {verdict.value}",)


def test_clients_word_alone_claims_nothing(sample: Sample) -> None:
    found = claim(sample, *both(sample), witnessed={Witness.AGENT})
    assert f"{KEEPS}: the client's word alone (evidence C)" in found.because


def test_broker_side_counts_neither_way(sample: Sample) -> None:
    broken = sample.judged(Verdict.FAIL, "forgot", requirement=BROKER)
    assert claim(sample, *both(sample), broken).claimed


def test_run_that_ended_early_claims_nothing(sample: Sample) -> None:
    assert claim(sample, *both(sample), complete=False).because == ("the run ended early",)


def test_file_reads_back_as_it_was_written(sample: Sample) -> None:
    found = certified(sample, *both(sample))
    assert read_certificate(render(found), "certificate.json") == found
