"""A batch as a function of time: life cycle, counts, times and files, without a clock."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.simulator.batches.batch import ENDED, Line, SimulatedBatch
from judge_gym.simulator.faults.plan import (
    BatchDuplicateLines,
    BatchExpired,
    BatchFailed,
    BatchHalfFailed,
    BatchOutOfOrder,
    BatchVanished,
)

T = 1_700_000_000.0


def a_batch(lines: int = 8, failing: tuple[int, ...] = (), **more: Any) -> SimulatedBatch:
    """A batch of 100 seconds created at T."""
    given_lines = tuple(
        Line(custom_id=f"c{n}", succeeded=n not in failing, text=f"line {n}") for n in range(lines)
    )
    fields = {
        "id": "batch_1", "input_file_id": "file-1", "endpoint": "/v1/chat/completions",
        "completion_window": "24h", "metadata": None, "created_at": T, "seconds": 100,
        "lines": given_lines,
    }  # fmt: skip
    return SimulatedBatch(**fields | more)


@pytest.mark.parametrize(
    ("more", "life"),
    [
        ({}, [(0, "validating"), (9.9, "validating"), (10, "in_progress"), (89.9, "in_progress"),
              (90, "finalizing"), (99.9, "finalizing"), (100, "completed"), (1e6, "completed")]),
        ({"lines": 0, "errors": ({"code": "x"},)},
         [(0, "validating"), (10, "failed"), (1e6, "failed")]),
        ({"fate": BatchExpired()},
         [(9, "validating"), (10, "in_progress"), (99, "in_progress"), (100, "expired")]),
        ({"cancelled_at": T + 30}, [(30, "cancelling"), (39.9, "cancelling"), (40, "cancelled"),
                                    (200, "cancelled")]),
        ({"seconds": 0}, [(0, "completed")]),
        ({"seconds": 0, "fate": BatchExpired()}, [(0, "expired")]),
    ],
)  # fmt: skip
def test_the_life_of_a_batch(more, life):
    batch = a_batch(**more)
    assert [(after, batch.status(T + after)) for after, _ in life] == life


def test_lines_are_done_evenly_between_a_tenth_and_nine_tenths():
    batch = a_batch(failing=(1, 6))
    # 8 lines in 80 seconds: the n-th is done at 10 + 10 n (rounded, so 5 seconds before).
    counts = [batch.as_json(T + at)["request_counts"] for at in (0, 10, 20, 30, 50, 89, 100)]
    assert [(c["completed"], c["failed"]) for c in counts] == [
        (0, 0), (0, 0), (1, 0), (1, 1), (3, 1), (6, 2), (6, 2),
    ]  # fmt: skip
    assert {c["total"] for c in counts} == {8}


def test_times_appear_as_they_pass():
    def times(batch: SimulatedBatch, at: float) -> dict[str, int]:
        shown = batch.as_json(T + at)
        return {k[:-3]: v - int(T) for k, v in shown.items() if k.endswith("_at") and v}

    start = {"created": 0, "expires": 86_400}
    assert times(a_batch(), 0) == start
    assert times(a_batch(), 50) == {**start, "in_progress": 10}
    done = {"in_progress": 10, "finalizing": 90, "completed": 100}
    assert times(a_batch(), 500) == {**start, **done}
    late = times(a_batch(fate=BatchExpired()), 500)
    assert late == {"created": 0, "expires": 100, "in_progress": 10, "expired": 100}
    cancelled = times(a_batch(cancelled_at=T + 30), 500)
    assert cancelled == {**start, "in_progress": 10, "cancelling": 30, "cancelled": 40}
    assert times(a_batch(cancelled_at=T + 5), 500) == {**start, "cancelling": 5, "cancelled": 15}
    failed = a_batch(lines=0, errors=({"code": "empty_file"},))
    assert times(failed, 500) == {**start, "failed": 10}


def test_errors_are_shown_once_validation_has_failed():
    batch = a_batch(lines=0, errors=({"code": "empty_file"},), fate=BatchFailed())
    assert batch.as_json(T)["errors"] is None
    assert batch.as_json(T + 10)["errors"] == {"object": "list", "data": [{"code": "empty_file"}]}
    assert (batch.output(T + 200), batch.failures(T + 200)) == ([], [])


def test_an_expired_batch_keeps_what_was_done_and_names_what_was_not():
    batch = a_batch(lines=10, failing=(1,), fate=BatchExpired(done=0.3))
    assert batch.output(T + 100) == ["line 0", "line 2"]
    failed, *late = batch.failures(T + 100)
    assert failed == "line 1"
    assert [f'"custom_id": "c{n}"' in text for n, text in enumerate(late, 3)] == [True] * 7
    assert all('"code": "batch_expired"' in text and '"response": null' in text for text in late)
    counts = {"total": 10, "completed": 2, "failed": 8}
    assert batch.as_json(T + 100)["request_counts"] == counts


def test_a_cancelled_batch_keeps_what_was_done_by_then():
    batch = a_batch(failing=(1,), cancelled_at=T + 40)
    assert batch.output(T + 1000) == ["line 0", "line 2"]
    assert batch.failures(T + 1000) == ["line 1"]


def test_vanishing():
    batch = a_batch(fate=BatchVanished(after=20))
    assert [batch.vanished(T + at) for at in (0, 19.9, 20, 500)] == [False, False, True, True]
    assert not a_batch().vanished(T + 500)


@pytest.mark.parametrize(("share", "doubled"), [(0.5, 4), (0.1, 1), (0.0, 1), (1.0, 8)])
def test_duplicates_stand_beside_their_line(share, doubled):
    output = a_batch(fate=BatchDuplicateLines(lines=share)).output(T + 100)
    assert len(output) == 8 + doubled
    assert list(dict.fromkeys(output)) == a_batch().output(T + 100)


@settings(max_examples=40)
@given(st.integers(0, 12), st.sets(st.integers(0, 11)), st.data())
def test_whatever_its_fate_it_only_moves_forward_and_loses_no_line(lines, failing, data):
    fates = (
        None, BatchExpired(done=0.4), BatchOutOfOrder(), BatchDuplicateLines(), BatchHalfFailed(),
    )  # fmt: skip
    fate = data.draw(st.sampled_from(fates))
    cancelled = data.draw(st.none() | st.floats(0, 99))
    batch = a_batch(lines, tuple(failing), fate=fate)
    if cancelled is not None:
        batch = batch.model_copy(update={"cancelled_at": T + cancelled})
    moments = [T + (cancelled or 0) + step for step in range(0, 121, 7)]
    seen = [batch.as_json(now) for now in moments]
    ended = [shown["status"] in ENDED for shown in seen]
    assert ended == sorted(ended)
    assert ended[-1]
    for key in ("completed", "failed"):
        counts = [shown["request_counts"][key] for shown in seen]
        assert counts == sorted(counts)
    end = seen[-1]
    counts = end["request_counts"]
    assert len(set(batch.output(T + 300))) == counts["completed"]
    assert len(batch.failures(T + 300)) == counts["failed"]
    if end["status"] in ("completed", "expired"):
        assert counts["completed"] + counts["failed"] == lines


@settings(max_examples=20)
@given(st.integers(2, 20))
def test_out_of_order_is_another_order_of_the_same_lines(lines):
    batch = a_batch(lines, fate=BatchOutOfOrder())
    output, sound = batch.output(T + 100), a_batch(lines).output(T + 100)
    assert output != sound
    assert sorted(output) == sorted(sound)
    assert output == batch.output(T + 500)


def test_a_record_survives_being_written():
    batch = a_batch(failing=(2,), fate=BatchExpired(done=0.25), cancelled_at=T + 1)
    assert SimulatedBatch.model_validate_json(batch.model_dump_json()) == batch
