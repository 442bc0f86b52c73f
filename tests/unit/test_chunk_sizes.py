"""How work is cut into chunks: all of it once, and larger ones where chunks end soon."""

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from flows.running import Chunks, Work
from judge_gym.settings import Settings

TASK = cast(Any, None)


def work(units: int, provider: str = "one", *, as_batches: bool = False) -> Work:
    return Work(TASK, (provider,), list(range(units)), "units", as_batches=as_batches)


def settings(**changes: Any) -> Settings:
    return Settings.model_construct(**({"chunk_size": None} | changes))


def taken(chunks: Chunks) -> tuple[Work, int, list[int]]:
    chunk = chunks.take()
    assert chunk is not None
    return chunk


def cut(chunks: Chunks, seconds: float) -> list[int]:
    """The sizes of all chunks, each of which takes so long before the next one is taken."""
    sizes = []
    while (chunk := chunks.take()) is not None:
        sizes.append(len(chunk[2]))
        chunks.took(len(chunk[2]), seconds)
    return sizes


def test_chunks_that_end_soon_double_and_others_stay() -> None:
    assert cut(Chunks([work(2000)], settings()), 1.0) == [100, 200, 400, 500, 500, 300]
    assert cut(Chunks([work(450)], settings()), 30.0) == [100, 100, 100, 100, 50]
    assert cut(Chunks([work(10)], settings(chunk_size=4)), 0.1) == [4, 4, 2]


def test_chunks_that_began_before_one_doubled_do_not_double_it_again() -> None:
    chunks = Chunks([work(2000)], settings())
    for _, _, units in [taken(chunks) for _ in range(4)]:
        chunks.took(len(units), 1.0)
    assert len(taken(chunks)[2]) == 200


@given(
    st.lists(st.tuples(st.integers(0, 3000), st.booleans()), max_size=4),
    st.one_of(st.none(), st.integers(1, 1000)),
    st.integers(1, 600),
    st.integers(1, 600),
    st.floats(0, 100),
)
def test_every_unit_is_in_one_chunk_and_batches_are_full_or_hold_the_rest(
    amounts: list[tuple[int, bool]],
    chunk_size: int | None,
    minimum: int,
    maximum: int,
    seconds: float,
) -> None:
    works = [
        work(units, str(number), as_batches=batches)
        for number, (units, batches) in enumerate(amounts)
    ]
    bounds = {"batch_minimum": minimum, "batch_maximum": maximum}
    chunks = Chunks(works, settings(chunk_size=chunk_size, **bounds))
    found: dict[tuple[str, ...], list[list[int]]] = {one.providers: [] for one in works}
    while (chunk := chunks.take()) is not None:
        one, start, units = chunk
        assert units[0] == start
        found[one.providers].append(units)
        chunks.took(len(units), seconds)
    for one in works:
        parts = found[one.providers]
        assert [unit for part in parts for unit in part] == one.units
        if one.as_batches and parts:
            assert {len(part) for part in parts[:-1]} <= {maximum}
            assert len(parts[-1]) >= min(minimum, maximum, len(one.units))
