"""Labels of people: read strictly, attached to items, exported, and seen in the view."""

import json
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis import load
from judge_gym.analysis import running as analysis
from judge_gym.annotations import load_mapping, read_annotations
from judge_gym.errors import ConfigError, EvidenceError, StoreError
from judge_gym.lab.annotating import ImportedLabels, import_annotations
from judge_gym.lab.importing import import_verdicts
from judge_gym.metrics.estimate import RemarkKind
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.mapping import load_recorded
from judge_gym.report.page import read_report
from judge_gym.store import tables as t
from judge_gym.store.annotations import delete_labels, labels_by_sweep, stored_annotations
from judge_gym.store.bundle_reading import import_bundle
from judge_gym.store.bundles import export
from judge_gym.store.results import ResultRow, latest_run, load_results
from support.command_line import REPOSITORY
from support.postgres import temporary_database

pytestmark = pytest.mark.slow

RUBRICS = REPOSITORY / "deployments" / "recorded"
SWEEP = "talks"
RECORDED = f"""\
name: {SWEEP}
concept: unsafe conversation
country: general
source: made up
rubric: {RUBRICS}/safety.yaml
judge_column: judge
item: {{key: talk}}
verdicts: [{{column: verdict}}]
decisions: {{safe: 1, unsafe: 2}}
"""
VERDICTS = "talk,judge,verdict\n" + "".join(
    f"t{talk},{judge},{'unsafe' if talk % period == 0 else 'safe'}\n"
    for talk in range(40)
    for judge, period in (("even", 2), ("third", 3))
)
MAPPING = "source: made up\ncolumns: {item: talk, annotator: who}\n"


class Talks:
    """A sweep of two recorded judges, and a folder for files of labels."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.engine = sa.create_engine(url, poolclass=sa.NullPool)
        self.judge(VERDICTS)

    def judge(self, rows: str, sweep: str = SWEEP) -> None:
        """Import recorded judgements as a sweep."""
        mapping = self.file("recorded.yaml", RECORDED.replace(f"name: {SWEEP}", f"name: {sweep}"))
        recorded, rubric = load_recorded(mapping)
        with Session(self.engine) as session, session.begin():
            verdicts = self.file("verdicts.csv", rows)
            import_verdicts(session, recorded_files([verdicts], recorded), recorded, rubric)

    def file(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.write_text(content)
        return path

    def label(
        self,
        rows: str,
        mapping: str = MAPPING,
        *,
        name: str = "people.csv",
        sweep: str | None = SWEEP,
        **options: object,
    ) -> ImportedLabels:
        path = self.file(name, rows)
        (given,) = read_annotations(path, load_mapping(self.file("mapping.yaml", mapping)))
        with Session(self.engine) as session, session.begin():
            return import_annotations(session, given, sweep=sweep, **options)


@pytest.fixture
def talks(database: str, tmp_path: Path) -> Talks:
    return Talks(database, tmp_path)


def test_labels_attach_to_items_and_come_in_rounds(talks: Talks) -> None:
    first = "talk,who,label\nt0,ann,Yes\nt0,bob,no\nt1,ann,No\n"
    assert talks.label(first) == ImportedLabels("people", 2, 0, 2, 3, 3, 0, deleted=0, stored=3)
    assert talks.label(first).new == 0
    assert talks.label(first + "t2,bob,No\n").new == 1
    rows = load("annotations", sweep=SWEEP, url=talks.url)
    found = zip(rows["item"], rows["annotator"], rows["labels"], strict=True)
    assert sorted(found) == [
        ("t0", "ann", ["Yes"]),
        ("t0", "bob", ["No"]),
        ("t1", "ann", ["No"]),
        ("t2", "bob", ["No"]),
    ]
    assert rows["item_id"].notna().all()
    assert set(rows["kind"]) == {"person"}
    with pytest.raises(EvidenceError, match="line 2: 'ann' labelled item 't0' No, and Yes is"):
        talks.label("talk,who,label\nt0,ann,No\n")
    # a file with less than is stored deletes nothing unless it replaces, and then says so
    less = talks.label("talk,who,label\nt0,ann,Yes\n")
    assert (less.new, less.deleted, less.stored) == (0, 0, 4)
    less = talks.label("talk,who,label\nt0,ann,No\n", replaced=True)
    assert (less.new, less.deleted, less.stored) == (1, 4, 1)
    assert len(load("annotations", url=talks.url)) == 1


def test_labels_of_another_window_are_not_those_of_a_sweep(talks: Talks) -> None:
    talks.judge("talk,judge,verdict\nt0,even,safe\nt1,even,unsafe\n", "short")
    talks.label("talk,who,label\nt0,ann,Yes\nt5,bob,No\n")
    talks.label("talk,who,label\nt1,cho,No\n", name="others.csv", sweep="short")
    of_sweep = {name: load("annotations", sweep=name, url=talks.url) for name in (SWEEP, "short")}
    assert sorted(of_sweep[SWEEP]["item"]) == ["t0", "t5"]
    assert [*of_sweep["short"]["item"]] == ["t1"]


def test_a_file_is_stored_for_each_sweep(talks: Talks) -> None:
    talks.judge("talk,judge,verdict\nt0,even,safe\nt1,even,unsafe\n", "short")
    rows = "talk,who,label\nt0,ann,Yes\nt1,bob,No\n"
    for sweep in (SWEEP, "short"):
        assert talks.label(rows, sweep=sweep).new == 2
        assert talks.label(rows, sweep=sweep).new == 0
    replaced = "talk,who,label\nt0,ann,No\n"
    assert talks.label(replaced, sweep="short", replaced=True).new == 1
    kept = {name: load("annotations", sweep=name, url=talks.url) for name in (SWEEP, "short")}
    assert {name: [*of["labels"]] for name, of in kept.items()} == {
        SWEEP: [["Yes"], ["No"]],
        "short": [["No"]],
    }
    for options in (
        {"sweep": None},
        {"sweep": "short", "mapping": f"{MAPPING}default: {{epsilon: 0.1}}\n"},
    ):
        with pytest.raises(StoreError, match=f"'people' are stored for sweep .*{SWEEP}"):
            talks.label(replaced, replaced=True, **options)
    assert len(load("annotations", url=talks.url)) == 3
    with Session(talks.engine) as session, session.begin():
        stored = {one.sweep: one for one in labels_by_sweep(session, "people")}
        assert {name: (one.annotators, one.labels) for name, one in stored.items()} == {
            SWEEP: (2, 2),
            "short": (1, 1),
        }
        assert delete_labels(session, "people", stored[SWEEP].items) == 2
        assert [one.sweep for one in labels_by_sweep(session, "people")] == ["short"]


def test_several_labels_are_a_set(talks: Talks) -> None:
    rows = "talk,who,label\nt0,ann,Yes|No\nt1,ann,Yes\nt1,ann,No\n"
    done = talks.label(rows, f'{MAPPING}separator: "|"\n')
    assert (done.labels, done.several) == (2, 2)
    assert [*load("annotations", url=talks.url)["labels"]] == [["No", "Yes"], ["No", "Yes"]]
    lines = [{"talk": "t0", "who": "ann", "label": ["Yes", "No"]}]
    talks.label("\n".join(map(json.dumps, lines)), name="more.jsonl")
    kept = load("annotations", url=talks.url)
    assert [*kept[kept["annotation_set"] == "more"]["n_labels"]] == [2]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("talk,who,label\nt99,ann,Yes\n", "people.csv line 2: there is no item 't99' in sweep"),
        ("talk,who,label\nt99,ann,Yes\n", "It has 40 items under this rubric"),
        ("talk,who,label\nt0,ann,Maybe\n", "line 2: the label 'Maybe' is no stage of the rubric"),
        ("talk,who,label\nt0,ann,Yes\nt0,ann,Yes\n", "line 3: label is 'Yes', which 'ann' gave"),
        ("talk,who,label\nt0,,Yes\n", "line 2: who is empty"),
        ("talk,label\nt0,Yes\n", "line 2: there is no 'who'"),
        ("talk,who,label\n", "has no row"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(talks: Talks, rows: str, said: str) -> None:
    with pytest.raises(EvidenceError) as raised:
        talks.label(rows)
    assert said in str(raised.value)
    assert load("annotations", url=talks.url).empty


def test_labels_are_mapped_to_stages(talks: Talks) -> None:
    talks.label(
        "talk,who,label\nt0,ann,1\nt1,ann,0\n",
        f'{MAPPING}default: {{stages: {{"0": 1, "1": 2}}}}\n',
    )
    assert [*load("annotations", url=talks.url)["labels"]] == [["Yes"], ["No"]]
    with pytest.raises(ConfigError, match="'1' is stage 3"):
        talks.label("talk,who,label\nt0,ann,1\n", f'{MAPPING}default: {{stages: {{"1": 3}}}}\n')


def test_kinds_and_declared_labels_are_checked(talks: Talks) -> None:
    mapping = (
        "source: made up\ncolumns: {item: talk, annotator: who, kind: kind}\n"
        "default: {labels: [a, b]}\n"
    )
    header = "talk,who,kind,label\n"
    with pytest.raises(EvidenceError, match="line 2: kind is 'robot'") as raised:
        talks.label(f"{header}t0,x,robot,a\n", mapping, sweep=None)
    assert raised.value.remedy == "Use person, human, judge, model."
    with pytest.raises(EvidenceError, match="line 2: label is 'c'") as raised:
        talks.label(f"{header}t0,x,human,c\n", mapping, sweep=None)
    assert "Use a, b." in raised.value.remedy
    done = talks.label(f"{header}t0,x,human,a\nt0,x,model,b\n", mapping, sweep=None)
    assert (done.people, done.judges) == (1, 1)
    with Session(talks.engine) as session:
        kept = stored_annotations(session, "people")
        assert [(row.kind, row.labels) for row in kept.rows] == [
            ("person", ("a",)), ("judge", ("b",))
        ]  # fmt: skip
        with pytest.raises(StoreError, match="no annotations 'peopel'"):
            stored_annotations(session, "peopel")
    with pytest.raises(EvidenceError, match="'x' is a judge, and a sweep has its own"):
        talks.label("talk,who,kind,label\nt0,x,model,Yes\n", mapping.splitlines()[0] + "\n"
                    "columns: {item: talk, annotator: who, kind: kind}\n")  # fmt: skip


def test_a_bundle_takes_labels_along(
    talks: Talks, postgres_server: str, migrated_template: str
) -> None:
    talks.label("talk,who,label\nt0,ann,Yes\nt1,bob,No\n")
    talks.label("talk,who,label\nx,ann,Yes\n", name="alone.csv", sweep=None)
    export(talks.engine, talks.folder / "bundle", sweep=SWEEP)
    with temporary_database(postgres_server, migrated_template) as url:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        _, new = import_bundle(engine, talks.folder / "bundle")
        assert (new["annotation_sets"], new["annotations"]) == (1, 2)
        assert import_bundle(engine, talks.folder / "bundle")[1]["annotations"] == 0
        there = load("annotations", sweep=SWEEP, url=url, columns=["item_key", "labels"])
        here = load("annotations", sweep=SWEEP, url=talks.url, columns=["item_key", "labels"])
        assert there.equals(here)
        with engine.begin() as connection:
            connection.execute(sa.update(t.Annotation).values(labels=["No"]))
        with pytest.raises(StoreError, match="1 annotations of the bundle are here with another"):
            import_bundle(engine, talks.folder / "bundle")


def labelled(talks: Talks, items: range, people: int = 3) -> list[ResultRow]:
    """Label these items as the judge `even` does but for every tenth, and analyse the sweep."""
    rows = [
        f"t{talk},p{person},{'Yes' if (talk % 2 == 0) != (talk % 10 == person) else 'No'}"
        for talk in items
        for person in range(people)
    ]
    talks.label("\n".join(["talk,who,label", *rows]))
    run_id = analysis.analyse(talks.engine, SWEEP)
    with Session(talks.engine) as session:
        return load_results(session, run_id)


def figure(rows: list[ResultRow], metric: str, **scope: str) -> ResultRow:
    (row,) = (
        row
        for row in rows
        if row.metric == metric and all(row.scope.get(key) == scope[key] for key in scope)
    )
    return row


def test_judges_are_compared_with_people(talks: Talks) -> None:
    rows = labelled(talks, range(40))
    even = {"judge": "recorded/even", "people": "people"}
    assert figure(rows, "alt_test_winning_rate", **even).estimate == 1
    third = figure(rows, "alt_test_winning_rate", **{**even, "judge": "recorded/third"})
    assert third.estimate == 0
    # Of the 10 items of a decade people differ on 3: one of the three is then apart.
    apart = figure(rows, "people_distance", **even)
    assert apart.estimate == pytest.approx(3 / 10 * 1 / 3)
    assert apart.floor == pytest.approx(3 / 10 * 2 / 3)
    assert figure(rows, "people_distance_excess", **even).estimate == pytest.approx(-0.1)
    assert apart.imported
    alpha = figure(rows, "people_alpha_ordinal")
    assert alpha.scope["people"] == "people"
    assert 0.5 < alpha.estimate < 0.7
    # Every item has labels, so there is nothing to correct.
    assert figure(rows, "corrected_mean").because.startswith("it needs labels, of people or")
    with Session(talks.engine) as session:
        run_id = latest_run(session, SWEEP).id
        titles = [table.title for table in read_report(session, run_id).results]
    assert {"Judges beside people", "Distance to people", "Agreement of people"} <= set(titles)


def test_labels_of_a_part_correct_a_judge(talks: Talks) -> None:
    rows = labelled(talks, range(30), people=1)
    third = {"judge": "recorded/third", "people": "people"}
    corrected = figure(rows, "corrected_mean", **third)
    # people say yes on half of the items but for the tenth; the judge on a third
    assert corrected.estimate == pytest.approx(0.4, abs=0.05)
    assert corrected.lower < 0.4 < corrected.upper
    assert [remark.kind for remark in corrected.remarks] == [RemarkKind.RANDOM_LABELS]
    assert "people" in figure(rows, "people_alpha_ordinal").because
    share = figure(rows, "corrected_share", stage="2", **third)
    assert share.estimate == pytest.approx(corrected.estimate)
    even = figure(rows, "corrected_share_rogan_gladen", stage="2", judge="recorded/even")
    # On the others it marks 5 of 10; Se is 1 and Sp 15/18: (1/2 - 1/6) / (1 - 1/6) = 0.4
    assert even.estimate == pytest.approx(0.4)
    # That is the share of the 10 items without a label, not of all 40.
    assert even.method.startswith("of the 10 items without a label")
    planned = [row for row in rows if row.metric == "labels_next" and row.scope.get("judge")]
    by_judge = {(row.scope["judge"], row.scope["stage"]): row.estimate for row in planned}
    assert sum(count for (judge, _), count in by_judge.items() if judge == "recorded/even") == 10
    widths = [row for row in rows if row.metric == "labels_half_width" and row.scope.get("judge")]
    now, *more = [row.estimate for row in widths if row.scope["judge"] == "recorded/third"]
    assert all(width < now for width in more)
    alt = figure(rows, "alt_test_winning_rate", judge="recorded/third")
    assert "it needs a person with 30 items that the judge and another person" in alt.because
