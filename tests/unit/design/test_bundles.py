"""Bundle plans: they partition the documents, and group them by how alike they are."""

import math
import re
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from judge_gym.design.grouping import Bundles, grouped, unknown, within_similarity
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.view import Viewing
from judge_gym.design.sweep import load_sweep
from judge_gym.errors import ConfigError
from judge_gym.evidence.similarity import text_similarity, vector_similarity
from judge_gym.seeds import digest

TOPICS = ("harbour crane berth", "court bench verdict", "school teacher lesson")


def plans(by, size, documents, similarity, seed=0, dates=None):
    plan = Bundles(by=by, size=size, seed=seed)
    dates = dates or [None] * len(documents)
    return grouped(plan, documents, "w", lambda: similarity, lambda: dates)


@settings(max_examples=60, deadline=None)
@given(
    by=st.sampled_from(["random", "similar", "spread", "window"]),
    count=st.integers(0, 40),
    size=st.integers(2, 7),
    seed=st.integers(0, 3),
)
def test_groups_partition_the_documents_in_sizes_that_differ_by_at_most_one(by, count, size, seed):
    documents = [f"d{number}" for number in range(count)]
    weight = np.random.default_rng(seed).random((count, count))
    groups = plans(by, size, documents, (weight + weight.T) / 2, seed)
    if count < size:
        assert groups == []
        return
    assert sorted(key for group in groups for key in group) == sorted(documents)
    sizes = [len(group) for group in groups]
    assert len(groups) == count // size
    assert size <= min(sizes) <= max(sizes) <= min(sizes) + 1
    again = plans(by, size, documents, (weight + weight.T) / 2, seed)
    assert digest("bundles", again) == digest("bundles", groups)


def test_alike_texts_are_together_and_unlike_ones_where_they_are_spread():
    texts = [f"{topic} number{copy}" for copy in range(3) for topic in TOPICS]
    documents = [f"d{number}" for number in range(9)]
    similarity = text_similarity(texts)
    places = {key: number for number, key in enumerate(documents)}

    def mean(by):
        groups = plans(by, 3, documents, similarity)
        found = [[places[key] for key in group] for group in groups]
        return np.mean(within_similarity(found, similarity)), found

    alike, groups = mean("similar")
    # Text k is about topic k mod 3.
    assert sorted(sorted({place % 3 for place in group}) for group in groups) == [[0], [1], [2]]
    spread, groups = mean("spread")
    assert [{place % 3 for place in group} for group in groups] == [{0, 1, 2}] * 3
    assert spread < mean("random")[0] < alike


@given(count=st.integers(4, 40), size=st.integers(2, 6), seed=st.integers(0, 3))
def test_bundles_by_window_have_a_document_of_each_stretch(count, size, seed):
    assume(count >= size)
    documents = [f"d{number}" for number in range(count)]
    # The source gives them in another order than that of their dates, two without one.
    day = [(number * 7 + 3) % 41 for number in range(count)]
    dates = [date(2026, 1, 1) + timedelta(days=one) for one in day]
    dates[1] = dates[0] = None
    groups = plans("window", size, documents, None, seed, dates)
    in_time = sorted(
        range(count), key=lambda place: (dates[place] is None, day[place] * (place > 1))
    )
    stretch = {documents[place]: rank // len(groups) for rank, place in enumerate(in_time)}
    for group in groups:
        assert sorted(stretch[key] for key in group) == list(range(len(group)))


def test_bundles_by_window_span_its_time_and_another_seed_deals_anew():
    documents = [f"d{number}" for number in range(6)]
    dates = [date(2026, 1, day) for day in (6, 1, 5, 2, 4, 3)]
    found = plans("window", 3, documents, None, 0, dates)
    # In time: d1 d3 | d5 d4 | d2 d0, and one of each stretch in a bundle.
    assert [{key in group for group in found} for key in documents] == [{True, False}] * 6
    for stretch in ({"d1", "d3"}, {"d5", "d4"}, {"d2", "d0"}):
        assert [len(stretch & set(group)) for group in found] == [1, 1]
    dealt = {
        tuple(map(frozenset, plans("window", 3, documents, None, seed, dates))) for seed in range(9)
    }
    assert len({frozenset(one) for one in dealt}) > 1


WORDS = ["crane", "Crane", "berth", "İstanbul", "x", "naïve", "don't", "日本語", "12", "a_b", "!"]


@given(st.lists(st.lists(st.sampled_from(WORDS)).map(" ".join), min_size=1, max_size=8))
def test_similarity_is_that_of_scikit_learn(texts):
    assume(any(re.search(r"\w\w", text) for text in texts))  # it takes no texts without a word
    vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    assert text_similarity(texts) == pytest.approx((vectors @ vectors.T).toarray())


def test_similarity_is_the_cosine_of_words_that_texts_share():
    # Two texts of the same two words, one of others: 1 and 0. A text without words is like none.
    found = text_similarity(["crane berth", "berth crane", "verdict", ""])
    assert found[0] == pytest.approx([1, 1, 0, 0])
    assert text_similarity(["", "!"]) == pytest.approx(np.zeros((2, 2)))
    # Word b in one of two texts: weights 1 of a, w of b; cosine 1 / sqrt(1 + w²).
    weight = (1 + math.log(2)) * (1 + math.log(3 / 2))
    [first, _] = text_similarity(["aa bb bb", "aa"])
    assert first == pytest.approx([1, 1 / math.sqrt(1 + weight**2)])
    # One pair of three is alike: (1 + 0 + 0) / 3.
    assert within_similarity([[0, 1, 2], [2]], found) == pytest.approx([1 / 3, 1])


def test_a_draw_without_seed_is_that_of_bundle_size_and_another_seed_is_another_draw():
    documents = [f"d{number:02}" for number in range(12)]
    first, second = (plans("random", 3, documents, np.eye(12), seed) for seed in (0, 1))
    assert first != second


def test_bundles_by_likeness_need_texts():
    with pytest.raises(ValueError, match="texts"):
        grouped(Bundles(by="similar", size=2), ["a", "b"], "w", unknown)
    assert grouped(Bundles(size=2), ["a", "b"], "w", unknown) in ([("a", "b")], [("b", "a")])


def test_bundles_and_bundle_size_exclude_each_other(write_blocks):
    block = "blocks:\n  - concept: c\n    model: sim/calm-1\n    bundle_size: 2\n"
    with pytest.raises(ConfigError, match="leave bundle_size out"):
        load_sweep(write_blocks(block + "    bundles: {by: similar, size: 5}\n"))


@pytest.mark.parametrize(
    "plan", ["{by: similar}", "{by: random}", "{seed: 3}", "{by: spread, size: 1}"]
)
def test_a_plan_without_a_size_bundles_nothing_and_is_refused(write_blocks, plan):
    block = f"blocks:\n  - concept: c\n    model: sim/calm-1\n    bundles: {plan}\n"
    with pytest.raises(ConfigError, match=r"size is missing.*2 to 20"):
        load_sweep(write_blocks(block))


def test_documents_one_by_one_stand_beside_bundles_in_a_list(write_blocks):
    block = "blocks:\n  - concept: c\n    model: sim/calm-1\n    bundles: [none, {size: 5}]\n"
    loaded = load_sweep(write_blocks(block))
    assert [str(one.bundles) for one in loaded.experiments()] == ["none", "random, 5"]


def test_a_view_is_part_of_a_plan_that_compares_texts_and_of_no_other(write_blocks):
    block = "blocks:\n  - concept: c\n    model: sim/calm-1\n    evidence_view: raw\n    bundles: "
    plan = "{by: similar, size: 5, view: neutralized}"
    [by_view] = load_sweep(write_blocks(f"{block}{plan}\n")).experiments()
    [raw] = load_sweep(write_blocks(f"{block}{{by: similar, size: 5}}\n")).experiments()
    assert str(by_view.bundles) == "similar, 5, neutralized texts"
    assert by_view.key != raw.key
    # The view is made though the judge reads another.
    assert resolve(by_view).of(Viewing).to_make == ("cleaned", "neutralized")
    assert resolve(raw).of(Viewing).to_make == ()
    # An experiment of before this key keeps its identity.
    assert "view" not in raw.bundles.model_dump(mode="json")
    for by in ("random", "window"):
        with pytest.raises(ConfigError, match="reads no text"):
            load_sweep(write_blocks(f"{block}{{by: {by}, size: 5, view: cleaned}}\n"))


@pytest.mark.parametrize("by", ["random", "window"])
def test_bundles_that_read_no_text_take_no_embeddings(by):
    with pytest.raises(ValueError, match=f"no effect on bundles by {by}"):
        Bundles(by=by, size=2, embeddings="openai/text-embedding-3-small")


@pytest.mark.parametrize("name", ["text-embedding-3-small", "openai/", "a b/c"])
def test_a_model_of_embeddings_is_named_with_its_provider(name):
    with pytest.raises(ValueError, match="embeddings"):
        Bundles(by="similar", size=2, embeddings=name)


def test_plans_of_two_models_are_two_levels_and_plans_by_words_keep_their_form():
    by_words = Bundles(by="similar", size=2)
    assert "embeddings" not in by_words.model_dump(mode="json")
    plans = {str(by_words)} | {
        str(Bundles(by="similar", size=2, embeddings=model)) for model in ("openai/a", "openai/b")
    }
    assert plans == {"similar, 2", *(f"similar, 2, embeddings of openai/{x}" for x in "ab")}


@given(st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=6))
def test_similarity_of_vectors_is_that_of_scikit_learn(rows):
    assert vector_similarity(rows) == pytest.approx(cosine_similarity(rows), abs=1e-9)
