"""Certificates of judges: figures by hand, what is refused, and what verifying finds."""

import csv
import json
import re
import warnings
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.calibration.checks import Result
from judge_gym.errors import ConfigError, DataFileError
from judge_gym.integrations import certified, scoring_function
from judge_gym.integrations.promptfoo import assertion
from judge_gym.judges import CallableJudge, HttpJudge, Scale, load_judge
from judge_gym.judges.calibrating.comparing import agreement
from judge_gym.judges.certify_rule import CertifyRule
from judge_gym.judges.certifying.certificate import (
    EarlierUse,
    Requirements,
    read_certificate,
    write_certificate,
)
from judge_gym.judges.certifying.checking import (
    CertificateError,
    UncheckedSignatureWarning,
    in_slice,
    valid_certificate,
)
from judge_gym.judges.certifying.evidence import (
    Evidence,
    PlacedText,
    read_evidence,
    write_evidence,
)
from judge_gym.judges.certifying.findings import findings, population_of, result_of
from judge_gym.judges.certifying.loading import load_certification
from judge_gym.judges.certifying.making import EarlierLooks, certificate_of, evidence_of
from judge_gym.judges.certifying.signing import private_key, signature_fault, signed
from judge_gym.judges.certifying.verifying import verified
from judge_gym.judges.gate_texts import load_gate
from judge_gym.metrics.class_rates import class_rates, exact_bounds
from judge_gym.metrics.score_agreement import label_agreement
from judge_gym.model_names import Answered
from judge_gym.report.certificate import sentences, tables
from support.judge_results import a_result

JUDGE = CallableJudge(
    name="support", function="m:f", scale=Scale(lowest=0, highest=1, anchors=("fail", "pass"))
)
ASKED = Requirements(sensitivity=0.8, specificity=0.8, readable=0.95, by="topic")


def key_of(n):
    return f"{n:016x}"


def evidence(counts, annotators=("ann",), system=""):
    """Evidence by slice → ((found, passes), (found, fails)); fails come after passes."""
    units, verdicts, truth, n = [], {}, {}, 0
    for name, classes in counts.items():
        for label, (found, of) in zip((1, 0), classes, strict=True):
            for place in range(of):
                n += 1
                units.append(PlacedText(key_of(n), key_of(n), system, name))
                verdicts[key_of(n)] = (label if place < found else 1 - label,)
                truth[key_of(n)] = (label,)
    return Evidence(tuple(sorted(units)), verdicts, {name: dict(truth) for name in annotators})


def test_figures_are_those_of_the_gate_and_the_audit_with_exact_bounds():
    found = findings(evidence({"": ((46, 50), (38, 40))}), ASKED.model_copy(update={"by": ""}))
    [one] = found.slices
    judge = np.repeat([1.0, 0, 0, 1], [46, 4, 38, 2])
    people = np.repeat([1.0, 0], [50, 40])
    rates = class_rates(judge, people, np.arange(90))
    kappa = label_agreement(people, judge)
    for rate, expected in zip((one.sensitivity, one.specificity), rates, strict=True):
        assert rate.estimate == expected.estimate
        # One slice, so the bound of one side at 97.5% is the lower end of the 95% interval.
        assert rate.lower == pytest.approx(max(0.8, expected.lower))
        assert rate.n == expected.n
    assert (one.agreement.estimate, one.agreement.lower) == (kappa.estimate, kappa.lower)
    assert (one.state, one.use, found.uses) == ("reached", "gate", ("gate", "monitor"))
    assert result_of(found) is Result.PASSES


def test_bounds_of_slices_hold_together_and_one_below_keeps_all_from_the_gate():
    found = findings(evidence({"a": ((95, 100), (95, 100)), "b": ((75, 100), (95, 100))}), ASKED)
    a, b = found.slices
    assert (a.use, b.use, found.use) == ("gate", "monitor", "monitor")
    assert (a.state, b.state) == ("reached", "open")
    assert b.sensitivity.more is None  # 0.75 does not come to 0.8 by more labels
    assert b.specificity.lower == pytest.approx(float(exact_bounds(95, 100)[0]), abs=0.02)
    assert result_of(found) is Result.CANNOT_TELL
    worse = findings(evidence({"a": ((95, 100), (95, 100)), "b": ((50, 100), (95, 100))}), ASKED)
    assert worse.slices[1].state == "missed"
    assert result_of(worse) is Result.FAILS


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 60), st.integers(0, 60))
def test_too_few_labels_show_no_use_and_say_how_many_are_missing(passes, fails):
    asked = ASKED.model_copy(update={"by": ""})
    found = findings(evidence({"": ((passes, passes), (fails, fails))}), asked) if passes + fails \
        else None  # fmt: skip
    if found is None:
        return
    [one] = found.slices
    assert (one.sensitivity.more, one.specificity.more) == (
        max(0, 17 - passes),
        max(0, 17 - fails),
    )
    if min(passes, fails) < 17:
        assert (found.use, found.uses, one.state) == ("none", (), "too few labels")
        assert result_of(found) is Result.CANNOT_TELL
    else:
        assert found.use == "gate"


def test_slices_with_too_few_labels_are_told_what_they_need_together():
    few = ((5, 5), (5, 5))
    found = findings(evidence({"a": few, "b": few}), ASKED)
    more = {one.sensitivity.more for one in found.slices}
    enough = ((5 + more.pop(),) * 2, (20, 20))
    assert findings(evidence({"a": enough, "b": enough}), ASKED).use == "gate"
    one_less = ((19, 19), (20, 20))
    assert findings(evidence({"a": one_less, "b": one_less}), ASKED).use != "gate"


def test_as_many_more_labels_as_said_certify_the_judge():
    asked = ASKED.model_copy(update={"by": ""})
    [open_] = findings(evidence({"": ((36, 40), (40, 40))}), asked).slices
    assert (open_.state, open_.use) == ("open", "monitor")
    labels = 40 + open_.sensitivity.more
    hits = int(np.ceil(0.9 * labels))
    [enough] = findings(evidence({"": ((hits, labels), (40, 40))}), asked).slices
    assert enough.state == "reached"


def test_texts_without_a_verdict_count_against_the_judge_where_they_are_many():
    asked = ASKED.model_copy(update={"by": ""})
    full = evidence({"": ((100, 100), (100, 100))})
    few = {text: (None,) if n < 20 else of for n, (text, of) in enumerate(full.verdicts.items())}
    found = findings(replace(full, verdicts=few), asked)
    assert found.slices[0].readable == 0.9
    assert (found.slices[0].state, found.use) == ("missed", "monitor")
    fine = {text: (None,) if n < 5 else of for n, (text, of) in enumerate(full.verdicts.items())}
    assert findings(replace(full, verdicts=fine), asked).use == "gate"


def test_ranking_needs_equal_errors_on_all_systems():
    def of(rates):
        rng, units, verdicts, truth = np.random.default_rng(3), [], {}, {}
        for system, rate in enumerate(rates):
            for n in range(300):
                text = key_of(1000 * system + n)
                units.append(PlacedText(text, key_of(n), f"s{system}", ""))
                truth[text] = (n % 2,)
                verdicts[text] = (n % 2 if rng.random() < rate else 1 - n % 2,)
        return findings(
            Evidence(tuple(sorted(units)), verdicts, {"ann": truth}),
            ASKED.model_copy(update={"by": ""}),
        )

    equal, apart = of([0.9, 0.9, 0.9]), of([0.98, 0.9, 0.7])
    assert "rank" in equal.uses
    assert "rank" not in apart.uses
    assert apart.one_correction.p < 0.05
    assert [one.name for one in apart.systems] == ["s0", "s1", "s2"]


def test_a_judge_just_below_is_certified_in_at_most_one_of_forty_trials():
    """Through `findings` itself, of the smallest sets with the largest chance to be certified."""
    asked = ASKED.model_copy(update={"by": ""})
    rng, shown = np.random.default_rng(5), 0
    hits, times = np.unique(rng.binomial(40, 0.79, 2000), return_counts=True)
    for hit, count in zip(hits.tolist(), times.tolist(), strict=True):
        shown += count * (findings(evidence({"": ((hit, 40), (40, 40))}), asked).use == "gate")
    assert 0 < shown <= 50


def test_a_text_that_answers_many_questions_is_one_text_of_many_answers():
    """As a canned reply: 17 texts of each class are needed, and there are 5 and 4."""
    once = evidence({"late": ((5, 5), (4, 4))}, system="bot")
    often = tuple(
        sorted(
            unit._replace(question=key_of(100 * int(unit.text, 16) + n))
            for unit in once.units
            for n in range(30)
        )
    )
    for asked in (ASKED, ASKED.model_copy(update={"by": ""})):
        found = findings(replace(once, units=often), asked)
        assert (found.use, found.uses) == ("none", ())
        for one in (found.overall, *found.slices, *found.systems):
            assert (one.texts, one.sensitivity.n, one.specificity.n) == (9, 150, 120)
            assert (one.sensitivity.more, one.specificity.more) == (12, 13)
            assert one.state == "too few labels"
    assert population_of(replace(once, units=often), 0).texts == 9


def test_a_text_of_two_systems_and_slices_counts_once_in_each_and_once_in_all():
    once = evidence({"late": ((20, 20), (20, 20))}, system="old")
    both = tuple(
        sorted((*once.units, *(unit._replace(system="new", slice="lost") for unit in once.units)))
    )
    found = findings(replace(once, units=both), ASKED)
    assert found.overall.texts == 40
    assert [one.texts for one in (*found.slices, *found.systems)] == [40] * 4


def test_an_answer_that_is_given_often_counts_as_often_and_as_one_text():
    """Of 50 passes one reply is wrong, which stands for 30 answers: 49 of 79 are found."""
    once = evidence({"": ((49, 50), (40, 40))})
    units = tuple(
        unit._replace(answers=30 if unit.text == key_of(50) else 1) for unit in once.units
    )
    [one] = findings(replace(once, units=units), ASKED.model_copy(update={"by": ""})).slices
    assert (one.sensitivity.estimate, one.sensitivity.n) == (pytest.approx(49 / 79), 79)
    assert (one.texts, one.specificity.n) == (90, 40)
    judge, people = np.repeat([1.0, 0, 0], [49, 30, 40]), np.repeat([1.0, 0], [79, 40])
    text = np.concatenate([np.arange(49), np.full(30, 49), np.arange(50, 90)])
    passed, _ = class_rates(judge, people, text)
    # The bounds are those of the gate: the lower end of its 95% interval.
    assert one.sensitivity.lower == pytest.approx(passed.lower)
    assert one.agreement.estimate == label_agreement(people, judge, cluster=text).estimate


# Files


@pytest.fixture
def folder(tmp_path):
    """A judge file with 120 texts that two people labelled."""
    rows = [
        {"id": f"t{n}", "text": f"text {n}", "topic": ("bills", "refunds")[n % 2], "system": "x"}
        for n in range(120)
    ]
    write(tmp_path / "items.csv", rows)
    write(
        tmp_path / "people.csv",
        [
            {"item": f"t{n}", "annotator": name, "label": ("fail", "pass")[n // 2 % 2]}
            for n in range(120)
            for name in ("ann", "bob")
        ],
    )
    (tmp_path / "judge.yaml").write_text(
        "kind: callable\nname: support\nfunction: m:f\n"
        "scale: {lowest: 0, highest: 1, anchors: [fail, pass]}\n"
        "certify:\n  {sensitivity: 0.8, specificity: 0.8, by: topic, items: items.csv,\n"
        "   labels: people.csv}\n"
    )
    return tmp_path


def write(path, rows):
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def made(folder, served=(), wrong=2, **changes):
    """The certificate of that judge, wrong on some texts, written with its evidence."""
    judge = load_judge(folder / "judge.yaml")
    loaded = load_certification(judge, judge.certify.model_copy(update=changes))
    results = [
        a_result(item, float((item.truth == 1) != (n < wrong)), judge=judge.key)
        for n, item in enumerate(loaded.labelled)
    ]
    found = evidence_of(loaded, results)
    certificate = certificate_of(loaded, found, Answered("m", served), EarlierLooks(), results)
    write_evidence(found, folder / "data")
    write_certificate(certificate, folder / "c.json")
    return certificate


def test_a_certificate_says_whose_labels_of_which_texts_and_verifies_by_its_evidence(folder):
    certificate = made(folder)
    assert certificate.population.slices == ("bills", "refunds")
    assert certificate.labels.by == {"ann": 120, "bob": 120}
    assert certificate.findings.people_agreement.estimate == 1.0
    assert certificate.judge.key == load_judge(folder / "judge.yaml").key
    assert certificate.ends.on == (certificate.made + timedelta(days=90)).date()
    found = verified(read_certificate(folder / "c.json"), folder / "data")
    assert found.fault == ""
    assert found.figures > 30
    for file in (folder / "data").iterdir():
        assert "text 1" not in file.read_text()


def test_rates_are_those_of_the_gate_where_answers_have_one_text(folder):
    """The judge is wrong on a reply that stands in 20 rows, of which people labelled 12."""
    rows = [
        {"id": f"t{n}", "text": "Sorry." if n % 6 == 0 else f"text {n}", "topic": "all"}
        for n in range(120)
    ]
    write(folder / "items.csv", rows)
    people = [
        {"item": f"t{n}", "annotator": "ann", "label": ("fail", "pass")[n // 2 % 2 and n % 6 > 0]}
        for n in range(120)
        if n % 6 or n < 72
    ]
    write(folder / "people.csv", people)
    file = folder / "judge.yaml"
    file.write_text(f"{file.read_text()}gate: {{items: items.csv, labels: people.csv}}\n")
    certificate = made(folder, wrong=1)  # the first text is that reply
    judge = load_judge(file)
    loaded = load_gate(judge)
    wrong = loaded.texts[0].key
    results = [
        a_result(item, float((item.truth == 1) != (item.key == wrong)), judge=judge.key)
        for item in loaded.texts
        if item.truth is not None
    ]
    rates = agreement(judge, loaded.answers(loaded.texts), results).rates
    fails = sum(row["label"] == "fail" for row in people)
    found = certificate.findings.overall
    assert rates[1].estimate == found.specificity.estimate == pytest.approx(1 - 12 / fails)
    assert [rate.n for rate in rates] == [found.sensitivity.n, found.specificity.n]
    assert found.sensitivity.n + found.specificity.n == 112
    assert verified(read_certificate(folder / "c.json"), folder / "data").fault == ""


@pytest.mark.parametrize(
    ("names", "labelled", "said"),
    [
        (("ann",), 120, "120 labels of 120 texts by 1 annotator (ann 120)."),
        (
            ("ann",),
            119,
            "119 labels of 120 texts by 1 annotator (ann 119), 1 text without a label.",
        ),
        (("ann", "bob"), 100, "(ann 100, bob 100), 20 texts without a label."),
        (("ann", "bob"), 50, "(ann 50, bob 50), 70 texts without a label."),
    ],
)
def test_what_texts_without_a_label_lack_is_said(folder, names, labelled, said):
    rows = [
        {"item": f"t{n}", "annotator": name, "label": ("fail", "pass")[n // 2 % 2]}
        for n in range(labelled)
        for name in names
    ]
    write(folder / "people.csv", rows)
    assert said in " ".join(sentences(made(folder, by="", wrong=0)))


def test_what_an_adjudicator_decides_is_the_known_answer(folder):
    """As in a gate; people's labels tie, and the certificate says who decided."""
    people = [
        {"item": f"t{n}", "annotator": name, "label": label, "draw": draw}
        for n in range(120)
        for name, label, draw in (
            ("ann", "pass", ""),
            ("bob", "fail", ""),
            ("cleo", ("fail", "pass")[n // 2 % 2], "adjudication"),
        )
    ]
    write(folder / "people.csv", people)
    certificate = made(folder, wrong=0)
    assert certificate.findings.overall.sensitivity.n == 60
    assert (certificate.labels.adjudicated, certificate.labels.undecided) == (120, 0)
    assert certificate.labels.by == {"ann": 120, "bob": 120}
    assert "120 texts decided by an adjudicator" in " ".join(sentences(certificate))
    assert verified(read_certificate(folder / "c.json"), folder / "data").fault == ""


def test_verifying_names_the_figure_that_was_changed_even_where_the_digest_was_too(folder):
    certificate = made(folder)
    findings_ = certificate.findings
    better = findings_.slices[1].model_copy(
        update={"agreement": findings_.slices[1].agreement.model_copy(update={"lower": 0.99})}
    )
    changed = certificate.model_copy(
        update={"findings": findings_.model_copy(update={"slices": (findings_.slices[0], better)})}
    )
    assert "changed after it was made" in verified(changed, folder / "data").fault
    forged = changed.model_copy(update={"digest": changed.content_digest})
    assert verified(forged, folder / "data").fault.startswith(
        "findings.slices.1.agreement.lower is 0.99"
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("verdicts.csv", ",1\n", ",0\n", "population.verdicts_digest is"),
        ("labels.csv", ",1,\n", ",0,\n", "labels.undecided is"),
        ("texts.csv", ",bills,", ",refunds,", "population.texts_digest is"),
    ],
)
def test_verifying_finds_other_data(folder, file, old, new, said):
    certificate = made(folder)
    path = folder / "data" / file
    path.write_text(path.read_text().replace(old, new, 1))
    assert verified(certificate, folder / "data").fault.startswith(said)


def test_line_ends_and_the_order_of_rows_do_not_matter(folder):
    certificate = made(folder)
    for path in (folder / "data").iterdir():
        head, *rows = path.read_text().splitlines()
        path.write_bytes("\r\n".join([head, *reversed(rows)]).encode())
    assert verified(certificate, folder / "data").fault == ""


def test_evidence_has_no_name_that_a_spreadsheet_computes(folder):
    names = {"topic": "=1+1", "system": "@x"}
    rows = list(csv.DictReader((folder / "items.csv").open()))
    write(folder / "items.csv", [row | names for row in rows])
    labels = list(csv.DictReader((folder / "people.csv").open()))
    write(folder / "people.csv", [row | {"annotator": f"-{row['annotator']}"} for row in labels])
    certificate = made(folder)
    for path in (folder / "data").iterdir():
        cells = {value for row in csv.reader(path.open()) for value in row}
        assert not {value for value in cells if value.startswith(("=", "@", "-"))}
    assert verified(certificate, folder / "data").fault == ""
    assert read_evidence(folder / "data").annotators == ("-ann", "-bob")
    assert certificate.population.slices == ("=1+1",)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("verdicts.csv", "text,repeat,verdict\nx,0,1\n", r"line 2: text is 'x'"),
        ("verdicts.csv", f"text,repeat,verdict\n{key_of(1)},0,1\n", r"texts.csv does not have it"),
        ("labels.csv", "text,annotator,label,decides\n{text},ann,2,\n", r"line 2: label is '2'"),
        ("labels.csv", "text,annotator,label,decides\n{text},,1,2\n", r"decides is '2'"),
        (
            "texts.csv",
            "text,question,system,slice,answers\n{text},q,,bills,-1\n",
            r"answers is '-1'",
        ),
        (
            "texts.csv",
            "text,question,system,slice,answers\n{text},q,,bills,1000001\n",
            r"1,000,001",
        ),
        ("labels.csv", "text,annotator\n{text},ann\n", r"there is no 'label'"),
        ("verdicts.csv", "text,repeat,verdict\n{text},-1,1\n", r"repeat is '-1'"),
        ("texts.csv", "text,question,system,slice\n", r"has no row"),
    ],
)
def test_evidence_that_does_not_fit_is_one_error_with_file_and_line(folder, file, text, said):
    made(folder)
    key = (folder / "data" / "texts.csv").read_text().splitlines()[1].split(",")[0]
    (folder / "data" / file).write_text(text.replace("{text}", key))
    with pytest.raises(DataFileError, match=said):
        read_evidence(folder / "data")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("judge"), "judge: Field required"),
        (lambda c: c.update(more=1), "more is 1: Extra inputs are not permitted"),
        (lambda c: c["findings"].update(use="all"), "findings.use is 'all'"),
        (lambda c: c["findings"]["slices"][0].update(texts="many"), "findings.slices.0.texts is"),
        (lambda c: c["findings"]["overall"]["sensitivity"].update(value=7), "value is 7"),
        (lambda c: c.update(format="judge-gym certificate 9"), "format is"),
        (lambda c: c["ends"].update(on="soon"), "ends.on is 'soon'"),
    ],
)
def test_a_file_that_is_no_certificate_names_its_key_in_one_line(folder, change, said):
    made(folder)
    content = json.loads((folder / "c.json").read_text())
    change(content)
    (folder / "c.json").write_text(json.dumps(content))
    with pytest.raises(ConfigError) as caught:
        read_certificate(folder / "c.json")
    assert said in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"judge": NaN}', "[" * 100_000, "x" * 1_100_000])
def test_any_other_file_is_one_line(folder, text):
    (folder / "c.json").write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_certificate(folder / "c.json")
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 400


# Signatures


def pem(key, path, *, password=None):
    encryption = (
        serialization.BestAvailableEncryption(password)
        if password
        else serialization.NoEncryption()
    )
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(encoding, form, encryption))
    return path


def public_pem(key, path):
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    path.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, form))
    return path


def test_a_signature_is_of_the_content_and_of_one_key(folder):
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    own = public_pem(key, folder / "own.pem")
    certificate = signed(made(folder), private_key(pem(key, folder / "key.pem")))
    assert verified(certificate, folder / "data", key=own).fault == ""
    assert "another key" in signature_fault(certificate, public_pem(other, folder / "other.pem"))
    longer = certificate.ends.model_copy(update={"on": date(2999, 1, 1)})
    forged = certificate.model_copy(update={"ends": longer})
    forged = forged.model_copy(update={"digest": forged.content_digest})
    assert signature_fault(forged, None) == "its signature is not of its content"
    unsigned = forged.model_copy(update={"signature": None})
    assert verified(unsigned, folder / "data", key=own).fault == "it is not signed"
    private = serialization.load_pem_private_key((folder / "key.pem").read_bytes(), None)
    raw = private.private_bytes_raw().hex()
    assert raw not in certificate.model_dump_json()


def test_a_wrong_key_file_is_one_error_without_its_content(folder):
    key, rsa = Ed25519PrivateKey.generate(), generate_private_key(65537, 2048)
    with pytest.raises(ConfigError, match=r"locked.pem is encrypted"):
        private_key(pem(key, folder / "locked.pem", password=b"x"))
    for file in (pem(rsa, folder / "rsa.pem"), public_pem(key, folder / "own.pem")):
        with pytest.raises(ConfigError, match="is no private Ed25519 key"):
            private_key(file)
    (folder / "text.pem").write_text("secret words")
    with pytest.raises(ConfigError) as caught:
        private_key(folder / "text.pem")
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"missing.pem"):
        private_key(folder / "missing.pem")
    with pytest.raises(ConfigError, match="is no public Ed25519 key"):
        signature_fault(made(folder), pem(key, folder / "key.pem"))


# What relies on a judge


def test_a_certificate_is_refused_where_it_does_not_hold(folder):
    certificate = made(folder, served=("model-1",))
    path, judge = folder / "c.json", load_judge(folder / "judge.yaml")
    bills, other = in_slice("bills"), judge.model_copy(update={"version": "2"})
    found = valid_certificate(path, judge, bills)
    found.check_served(["model-1"])
    with pytest.raises(CertificateError, match="is of model-1, and model-2 answered"):
        found.check_served(["model-1", "model-2"])
    with pytest.raises(CertificateError, match="the answers name no served model"):
        found.check_served([])
    after = certificate.ends.on + timedelta(days=1)
    refusals = {
        "there is no certificate": lambda: valid_certificate(folder / "none.json", judge, bills),
        "ended on": lambda: valid_certificate(path, judge, bills, today=after),
        "is of another judge": lambda: valid_certificate(path, other, bills),
        "is not for topic 'visas'": lambda: valid_certificate(path, judge, in_slice("visas")),
        "no slice is named: it shows this use for bills and refunds": lambda: valid_certificate(
            path, judge, in_slice(None)
        ),
        "shows no use 'rank'": lambda: valid_certificate(path, judge, bills, use="rank"),
    }
    for said, refused in refusals.items():
        with pytest.raises(CertificateError) as caught:
            refused()
        assert said in caught.value.message
        assert "\n" not in str(caught.value)
    assert valid_certificate(path, judge, bills, use="monitor", today=certificate.ends.on)
    content = json.loads(path.read_text())
    content["ends"]["on"] = "2999-01-01"
    path.write_text(json.dumps(content))
    with pytest.raises(CertificateError, match="changed after it was made"):
        valid_certificate(path, judge, bills)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one, _: one, ""),
        (lambda one, _: one.model_copy(update={"signature": None}), "it is not signed"),
        # Whoever forges a date can compute the digest, too.
        (lambda one, _: forged(one), "its signature is not of its content"),
        (lambda one, key: signed(forged(one), key), "it is signed by another key"),
    ],
)
def test_what_relies_on_a_signed_certificate_refuses_one_that_its_key_did_not_sign(
    folder, change, said
):
    ours, theirs = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    public_pem(ours, folder / "key.pub.pem")
    rule = "gate: {items: items.csv, labels: people.csv, signed_by: key.pub.pem%s}\n"
    text = (folder / "judge.yaml").read_text()
    (folder / "judge.yaml").write_text(text + rule % "")
    with pytest.raises(ConfigError, match="signed_by and no certificate"):
        load_gate(load_judge(folder / "judge.yaml")).certified()
    (folder / "judge.yaml").write_text(text + rule % ", certificate: c.json")
    write_certificate(change(signed(made(folder), ours), theirs), folder / "c.json")
    judge = load_judge(folder / "judge.yaml")
    ways = (
        load_gate(judge).certified,
        lambda: certified(judge, folder / "c.json", "bills", signed_by=folder / "key.pub.pem"),
    )
    for way in ways:
        if not said:
            assert way()
            continue
        with pytest.raises(CertificateError, match=said):
            way()


def test_a_certificate_whose_signature_was_not_checked_has_a_caution(folder):
    ours = Ed25519PrivateKey.generate()
    public_pem(ours, folder / "key.pub.pem")
    text = (folder / "judge.yaml").read_text()
    cautions = []
    for signs, asked in ((False, ""), (True, ""), (True, ", signed_by: key.pub.pem")):
        certificate = made(folder)
        write_certificate(signed(certificate, ours) if signs else certificate, folder / "c.json")
        gate = f"gate: {{items: items.csv, labels: people.csv, certificate: c.json{asked}}}\n"
        (folder / "judge.yaml").write_text(text + gate)
        holds = load_gate(load_judge(folder / "judge.yaml")).certified()
        assert holds is not None
        cautions.append(holds.caution)
    unsigned, unchecked, checked = cautions
    assert "is not signed" in unsigned
    assert ours.public_key().public_bytes_raw().hex()[:16] in unchecked
    assert all("signed_by" in one for one in (unsigned, unchecked))
    assert checked == ""
    # Components of other tools have the same one, and a signature that was checked no warning.
    judge, certificate = folder / "judge.yaml", folder / "c.json"
    with pytest.warns(UncheckedSignatureWarning, match=re.escape(unchecked)):
        chosen = certified(judge, certificate, "bills", "monitor")
    assert chosen.caution == unchecked
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        key = folder / "key.pub.pem"
        assert certified(judge, certificate, "bills", "monitor", key).caution == ""
        assert certified(judge).caution == ""


def forged(certificate):
    ends = certificate.ends.model_copy(update={"on": date(2099, 1, 1)})
    changed = certificate.model_copy(update={"ends": ends})
    return changed.model_copy(update={"digest": changed.content_digest})


BINARY = """
kind: binary
name: links
model: sim/good-1
task: Is it a new note?
temperature: 0
verdicts: [{name: new, description: It is new.}, {name: old, description: It is old.}]
certify: {sensitivity: 0.8, specificity: 0.8, items: items.csv, labels: people.csv}
"""


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("sim/good-1", "sim/good-2", "model changed"),
        ("a new note", "an old note", "task changed"),
        ("temperature: 0", "temperature: 0.5", "temperature changed"),
        ("It is new.", "It is recent.", "verdicts changed"),
        ("temperature: 0", "top_p: 0.5", "temperature, top_p changed"),
    ],
)
def test_a_refusal_and_the_check_of_an_outsider_name_what_of_a_judge_was_changed(
    folder, was, now, said
):
    write(folder / "people.csv", [
        {"item": f"t{n}", "annotator": "ann", "label": ("old", "new")[n % 2]} for n in range(120)
    ])  # fmt: skip
    (folder / "judge.yaml").write_text(BINARY)
    certificate = made(folder)
    (folder / "other.yaml").write_text(BINARY.replace(was, now))
    other = load_judge(folder / "other.yaml")
    with pytest.raises(CertificateError, match="of another judge") as caught:
        valid_certificate(folder / "c.json", other, in_slice(None))
    fault = dict(verified(certificate, folder / "data", judge=other).checks)["of this judge"]
    for message in (caught.value.message.rstrip("."), fault):
        assert message.endswith(f": {said}")
    own = load_judge(folder / "judge.yaml")
    assert dict(verified(certificate, folder / "data", judge=own).checks)["of this judge"] == ""


def test_a_bound_that_is_what_was_required_does_not_read_as_measured(folder):
    # Slice a is reached and b is not: the bound of a is what is required, 0.8. Of one slice that is
    # reached it is measured: the exact bound of 46 of 50, 0.808, lies above.
    apart = {"a": ((95, 100), (95, 100)), "b": ((75, 100), (95, 100))}
    whole = {"": ((46, 50), (46, 50))}
    for counts, required in ((apart, True), (whole, False)):
        asked = ASKED if required else ASKED.model_copy(update={"by": ""})
        found = findings(evidence(counts), asked)
        of = made(folder).model_copy(update={"findings": found, "required": asked})
        first = next(tables(of)).rows[0].cells
        assert ("at least the required 0.8" in first[3]) is required
        assert ("≥ 0.80" in first[3]) is not required
        assert any("closed testing" in one for one in sentences(of)) is required


def test_a_certificate_from_before_requirements_were_recorded_is_unchanged(folder):
    certificate = made(folder)
    before = json.loads((folder / "c.json").read_text())
    del before["earlier_requirements"]
    (folder / "before.json").write_text(json.dumps(before))
    assert verified(read_certificate(folder / "before.json"), folder / "data").fault == ""
    use = EarlierUse(at=certificate.made, by="another requirement", texts=3)
    hidden = certificate.model_copy(update={"earlier_requirements": (use,)})
    assert hidden.content_digest != certificate.content_digest


def test_why_a_judge_may_not_rank_systems_is_said(folder):
    rows = list(csv.DictReader((folder / "items.csv").open()))
    for n, row in enumerate(rows):
        row["system"] = "new" if n < 5 else "old"
    write(folder / "items.csv", rows)
    said = " ".join(sentences(made(folder, by="", wrong=0)))
    assert "To rank systems: not shown, as too few labels tell" in said
    assert "the fewest are of new: 5" in said
    said = " ".join(sentences(made(folder, by="", wrong=5)))  # all of the new system
    assert "To rank systems: not shown, as the judge's error rates differ" in said
    for row in rows:
        row["sytem"] = row.pop("system")
    write(folder / "items.csv", rows)
    judge = load_judge(folder / "judge.yaml")
    assert "No column 'system': whether it may rank" in load_certification(judge).said()
    assert "Did you mean sytem?" in load_certification(judge).said()
    with pytest.raises(DataFileError, match="sytm"):
        load_certification(judge, judge.certify.model_copy(update={"system": "sytm"}))


def test_a_slice_that_is_not_shown_is_refused_and_others_are_not(folder):
    made(folder, wrong=0)
    rows = list(csv.DictReader((folder / "people.csv").open()))
    write(folder / "people.csv", [row for row in rows if int(row["item"][1:]) % 2 or
                                  int(row["item"][1:]) < 20])  # fmt: skip
    certificate = made(folder, wrong=0)
    assert [one.use for one in certificate.findings.slices] == ["none", "gate"]
    path, judge = folder / "c.json", load_judge(folder / "judge.yaml")
    assert valid_certificate(path, judge, in_slice("refunds"))
    with pytest.raises(CertificateError, match="shows no use 'gate' for topic 'bills'"):
        valid_certificate(path, judge, lambda column: {"refunds", "bills"})


def test_components_of_other_tools_ask_for_the_certificate_before_they_judge(folder):
    made(folder)
    judge, certificate = folder / "judge.yaml", folder / "c.json"
    assert certified(judge, certificate, slice="bills").judge.name == "support"
    with pytest.raises(CertificateError, match="not for topic 'visas'"):
        scoring_function(judge, certificate=certificate, slice="visas")
    with pytest.raises(CertificateError, match="there is no certificate"):
        scoring_function(judge, certificate=folder / "none.json")
    get_assert = assertion(judge, certificate=certificate, slice="visas")
    refused = get_assert("An answer.", {"prompt": "A question?"})
    assert (refused["pass"], refused["score"]) == (False, 0.0)
    assert "not for topic 'visas'" in refused["reason"]


# Files with mistakes in them


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"by": "tpoic"}, r"there is no column 'tpoic'.*Did you mean topic"),
        ({"system": "sytem"}, r"there is no column 'sytem'"),
        ({"items": None}, r"certify names no texts"),
        ({"label_fields": {"annotator": "rater"}}, r"rater"),
    ],
)
def test_what_certify_names_and_is_not_there_is_one_error(folder, changes, said):
    with pytest.raises((ConfigError, DataFileError), match=said):
        made(folder, **changes)


def test_a_judge_of_scores_and_one_without_requirements_cannot_be_certified(folder):
    grades = CallableJudge(name="grades", function="m:f", scale=Scale(lowest=1, highest=5))
    rule = CertifyRule(sensitivity=0.8, specificity=0.8)
    with pytest.raises(ConfigError, match="has no two verdicts"):
        load_certification(grades, rule)
    with pytest.raises(ConfigError, match="has no two verdicts"):  # before what to add
        load_certification(grades)
    with pytest.raises(ConfigError, match="has no certify"):
        load_certification(JUDGE)


def test_a_text_without_a_slice_and_labels_between_verdicts_are_errors(folder):
    rows = list(csv.DictReader((folder / "items.csv").open()))
    rows[4]["topic"] = " "
    write(folder / "items.csv", rows)
    with pytest.raises(DataFileError, match=r"items.csv line 6, item 't4': topic is empty"):
        made(folder)
    made(folder, by="")
    labels = list(csv.DictReader((folder / "people.csv").open()))
    labels[3]["label"] = "0.5"
    write(folder / "people.csv", labels)
    with pytest.raises(DataFileError, match="lies between the verdicts"):
        made(folder, by="")


@pytest.mark.parametrize("column", ["topic", "system"])
def test_a_name_that_no_certificate_takes_is_an_error_before_anything_is_judged(folder, column):
    rows = list(csv.DictReader((folder / "items.csv").open()))
    rows[4][column] = "x" * 501
    write(folder / "items.csv", rows)
    with pytest.raises(DataFileError, match=rf"line 6.*{column} (has 501|is .* at most 500)"):
        made(folder)


def test_a_column_of_names_is_no_column_of_slices(folder):
    rows = [{"id": f"x{n}", "text": f"t {n}", "topic": "a", "truth": "pass"} for n in range(400)]
    write(folder / "items.csv", rows)
    with pytest.raises(ConfigError, match="column 'id' has 400 different values"):
        made(folder, by="id", labels=None)


def test_an_address_in_a_certificate_has_no_secret(folder):
    judge = HttpJudge(
        name="there", url="https://me:pw@grader.example/v1?token=t0p", scale=JUDGE.scale
    )
    made(folder)
    loaded = load_certification(load_judge(folder / "judge.yaml"))
    found = certificate_of(
        replace(loaded, judge=judge), evidence_of(loaded, []), Answered("m", ()), EarlierLooks(), []
    )
    text = found.model_dump_json()
    assert "grader.example/v1" in text
    assert not {"pw", "t0p"} & set(re.findall(r"\w+", text))


def test_labels_of_one_class_only_certify_nothing_and_name_the_other(folder):
    rows = list(csv.DictReader((folder / "people.csv").open()))
    write(folder / "people.csv", [row for row in rows if row["label"] == "pass"])
    certificate = made(folder, by="", wrong=0)
    [one] = certificate.findings.slices
    assert (certificate.findings.use, one.state) == ("none", "too few labels")
    assert (one.sensitivity.more, one.specificity.more) == (0, 17)
    assert one.specificity.estimate is None


def test_texts_that_the_judge_was_aligned_on_are_left_out(folder):
    from judge_gym.judges.aligning.splitting import TEXT_DIGITS, same_text

    judge = load_judge(folder / "judge.yaml")
    loaded = load_certification(judge)
    chosen = " ".join(same_text(item)[:TEXT_DIGITS] for item in loaded.labelled[:7])

    class Made:
        chosen_on = chosen

    aligned = load_certification(judge.model_copy(update={"provenance": Made()}))
    assert (aligned.left_out, len(aligned.labelled)) == (7, 113)


def test_the_time_is_of_one_zone(folder):
    assert made(folder).made.tzinfo is not None
    assert read_certificate(folder / "c.json").made <= datetime.now(UTC)
