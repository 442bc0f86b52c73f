"""Every mistake in a sweep file gives one error with file, line, key, value and what is legal."""

from collections.abc import Callable
from pathlib import Path

import pytest

from judge_gym.design.config import MAX_TEXT_BYTES
from judge_gym.design.sweep import load_sweep
from judge_gym.errors import ConfigError

# The head that `write_blocks` puts first has five lines, so `blocks:` is line 6.
BLOCKS = [
    (
        "blocks:\n  - scale_size: [4, 11]\n",
        "sweep.yaml, line 7: blocks[0].scale_size[1] is 11. Use a whole number from 2 to 10.",
    ),
    (
        "blocks:\n  - scale_size: true\n",
        "sweep.yaml, line 7: blocks[0].scale_size is true. Use a whole number from 2 to 10.",
    ),
    (
        "blocks:\n  - scoring_method: [single, subest]\n",
        "sweep.yaml, line 7: blocks[0].scoring_method[1] is 'subest'. "
        "Use single, subset or structured_json.",
    ),
    (
        "blocks:\n  - abstain: yes\n",
        "sweep.yaml, line 7: blocks[0].abstain is 'yes'. Use true or false.",
    ),
    (
        "blocks:\n  - temperature: [0, 0.5,\n      .nan]\n",
        "sweep.yaml, line 8: blocks[0].temperature[2] is nan. Use a number from 0 to 2.",
    ),
    (
        "blocks:\n  - top_p: 0\n",
        "sweep.yaml, line 7: blocks[0].top_p is 0. Use a number above 0 and at most 1.",
    ),
    (
        "blocks:\n  - window: valmora\n",
        "sweep.yaml, line 7: blocks[0].window is 'valmora'. Did you mean valmora-week? "
        "The windows of this sweep are valmora-week, ostrand-week.",
    ),
    (
        "blocks:\n  - rubric: [own, onw]\n",
        "sweep.yaml, line 7: blocks[0].rubric[1] is 'onw'. Did you mean own? "
        "Use own, {shared: MODEL} or {provided: FILE}.",
    ),
    (
        "blocks:\n  - rubric: {shard: sim/calm-1}\n",
        "sweep.yaml, line 7: blocks[0].rubric is a mapping with 'shard'. "
        "Use own, {shared: MODEL} or {provided: FILE}.",
    ),
    (
        "blocks:\n  - rubric: {provided: rubrik.yaml}\n",
        "sweep.yaml, line 7: blocks[0].rubric.provided cannot be used: rubrik.yaml cannot be "
        "read: No such file or directory. FOLDER has corpora, rubric.yaml, sweep.yaml.",
    ),
    (
        "blocks:\n  - model: sim/high-1\n"
        "  - rubric: {provided: rubric.yaml}\n    scale_size: [4, 5]\n",
        "sweep.yaml, line 8: blocks[1] combines rubric provided and scale_size 5: "
        "the provided rubric has 4 stages, so write scale_size: 4.",
    ),
    (
        "blocks:\n  - task_type: control\n",
        "sweep.yaml, line 7: blocks[0] combines task_type control and no ground_truth: "
        "task_type control needs ground_truth.",
    ),
    (
        "blocks:\n  - task_type: benchmark\n    bundle_size: [1, 3]\n"
        "    ground_truth: {source: Key, label: No sign}\n",
        "sweep.yaml, line 7: blocks[0] combines task_type benchmark and bundle_size 3: "
        "a benchmark has one truth an item, so bundle_size is 1.",
    ),
    (
        "blocks:\n  - task_type: control\n    ground_truth: {source: Index, value: 1.5}\n",
        "sweep.yaml, line 8: blocks[0].ground_truth.value is 1.5. Use a number from 0 to 1.",
    ),
    (
        "blocks:\n  - task_type: control\n    ground_truth: {source: Index}\n",
        "sweep.yaml, line 8: blocks[0].ground_truth does not fit: "
        "give exactly one of value, label and per_item: true.",
    ),
    (
        "blocks:\n  - ground_truth: [{source: One, value: 0}, {source: Two, value: 1}]\n",
        "sweep.yaml, line 7: blocks[0].ground_truth is a list of 2. "
        "Use a single value; other values go into blocks of their own.",
    ),
    (
        "blocks:\n  - replicates: [5, 10]\n",
        "sweep.yaml, line 7: blocks[0].replicates is a list of 2. "
        "Use a single value; other values go into blocks of their own.",
    ),
    (
        "blocks:\n  - model: [sim/calm-1, sim/high-1, sim/calm-1]\n",
        "sweep.yaml, line 7: blocks[0].model[2] is 'sim/calm-1' again. Keep one.",
    ),
    (
        "blocks:\n  - temperature: [1, 1.0]\n",
        "sweep.yaml, line 7: blocks[0].temperature[1] is 1.0 again. Keep one.",
    ),
    (
        "blocks:\n  - model: []\n",
        "sweep.yaml, line 7: blocks[0].model is an empty list. Use text of 1 to 200 characters.",
    ),
    (
        "blocks:\n  - tag: pilot\n    scale_size: [4, 5]\n",
        "sweep.yaml, line 7: blocks[0] gives the tag pilot to 2 experiments. "
        "A tag names one; leave it out, and each gets its own.",
    ),
    (
        "blocks:\n  - {tag: pilot}\n  - {tag: pilot, model: sim/high-1}\n",
        "sweep.yaml, line 8: blocks[1] gives the tag pilot again. blocks[0] has it.",
    ),
    (
        "blocks:\n  - tag: My Tag\n",
        "sweep.yaml, line 7: blocks[0].tag is 'My Tag'. Use at most 120 small letters, digits, "
        "dots, underscores and hyphens, beginning with a letter or digit.",
    ),
    (
        "blocks: []\n",
        "sweep.yaml, line 6: blocks is an empty list. Use a list of one block or more.",
    ),
    (
        "blocks:\n  - model: sim/calm-1\n    model: sim/high-1\n",
        "sweep.yaml, line 8: blocks[0].model is given twice, first on line 7.",
    ),
    (
        "stand_ins: {openai/gpt-4.1: openai/gpt-5.2}\nblocks:\n  - model: openai/gpt-4.1\n",
        "sweep.yaml, line 6: stand_ins.openai/gpt-4.1 is 'openai/gpt-5.2'. "
        "Name a simulated model: sim/MODEL.",
    ),
    (
        "stand_ins: {openai/gpt-4: sim/gpt-4.1}\nblocks:\n  - model: openai/gpt-4.1\n",
        "sweep.yaml, line 6: stand_ins.openai/gpt-4 is a model that the file does not name. "
        "Leave it out.",
    ),
    (
        "block:\n  - model: sim/calm-1\n",
        "sweep.yaml, line 6: block is not a known key. Did you mean blocks? "
        "Use name, description, utility_model, stand_ins, windows, families, concepts, "
        "rubric_draws, defaults, blocks, on_unsupported, swap, rubric_embeddings, score_critic, "
        "draw, budget, "
        "approve_over_usd, pause_after, plan.",
    ),
    (
        "blocks: [{}]\non_unsupported: ignore\n",
        "sweep.yaml, line 7: on_unsupported is 'ignore'. Use error or mark.",
    ),
    (
        "blocks: [{}]\nswap: {pairs: [[calm, high], [calm]]}\n",
        "sweep.yaml, line 7: swap.pairs[1] is a list of 1. Use all, a list of [judge, rival] "
        "pairs or {most_divergent: COUNT, held_out: SHARE}.",
    ),
    (
        "blocks: [{}]\nswap: {pairs: {most_divergent: 0}}\n",
        "sweep.yaml, line 7: swap.pairs.most_divergent is 0. Use a whole number from 1 to 1000.",
    ),
    (
        "blocks: [{}]\nswap: {pairs: [[calm, calm]]}\n",
        "sweep.yaml, line 7: swap does not fit: "
        "calm cannot be its own rival; for that, use sham: true.",
    ),
    (
        "blocks: [{rubric: {shared: sim/calm-1}}]\nswap: {pairs: [[calm, low]]}\n",
        "sweep.yaml, line 7: swap.pairs[0] has judge 'calm', which has no experiment "
        "with `rubric: own`. Judges and families with an own rubric: none.",
    ),
    (
        "blocks: [{}]\nswap: {pairs: [[calm, low], [clm, low]]}\n",
        "sweep.yaml, line 7: swap.pairs[1] has judge 'clm', which has no experiment "
        "with `rubric: own`. Did you mean calm? Judges and families with an own rubric: "
        "sim/calm-1, calm.",
    ),
    (
        "blocks: [{model: [sim/calm-1, sim/low-1]}]\nswap: {pairs: [[calm, low], [low, calm]]}\n"
        "draw: {random: 1}\n",
        "sweep.yaml, line 7: swap.pairs[1] has judge 'low', which has no experiment with "
        "`rubric: own` that was drawn. Judges and families with an own rubric: sim/calm-1, calm.",
    ),
    (
        "blocks: [{}]\ndraw: {random: 2}\n",
        "sweep.yaml, line 7: draw.random is 2. There are 1 to draw from.",
    ),
    (
        "blocks: [{scale_size: [3, 4]}]\ndraw: {controlled: 2}\n",
        "sweep.yaml, line 7: draw.controlled is 2. There are 1 pairs that differ in one axis only.",
    ),
    (
        "blocks: [{scale_size: [3, 4]}]\ndraw: {controlled: 1, axes: [abstain]}\n",
        "sweep.yaml, line 7: draw.axes[0] is 'abstain', in which no two experiments of the "
        "blocks differ alone. Give the axis two values in a block.",
    ),
    (
        "blocks: [{}]\nbudget: {max_cost: 5}\n",
        "sweep.yaml, line 7: budget.max_cost is not a known key. Did you mean max_cost_usd? "
        "Use max_cost_usd, max_calls, max_failures_share.",
    ),
    (
        "blocks: [{}]\nbudget: {max_cost_usd: 0}\n",
        "sweep.yaml, line 7: budget.max_cost_usd is 0. Use a number above 0.",
    ),
    (
        "blocks: [{}]\nbudget: {max_calls: 1.5}\n",
        "sweep.yaml, line 7: budget.max_calls is 1.5. Use a whole number at least 1.",
    ),
    (
        "blocks: [{}]\nbudget: {max_failures_share: 20}\n",
        "sweep.yaml, line 7: budget.max_failures_share is 20. Use a number from 0 to 1.",
    ),
    (
        "blocks: [{}]\nbudget: 5\n",
        "sweep.yaml, line 7: budget is 5. "
        "Use {max_cost_usd: …, max_calls: …, max_failures_share: …}.",
    ),
    (
        "blocks: [{}]\nfamilies: {sim/calm-2: calm}\n",
        "sweep.yaml, line 7: families.sim/calm-2 is a model of no block. "
        "Did you mean sim/calm-1? Use sim/calm-1.",
    ),
    (
        "blocks: [{}]\nrubric_draws: 0\n",
        "sweep.yaml, line 7: rubric_draws is 0. Use a whole number from 1 to 20.",
    ),
    (
        "blocks: [{rubric_draw: 1, rubric_per_sample: true}]\n",
        "sweep.yaml, line 6: blocks[0].rubric_draw is given with rubric_per_sample, which draws "
        "one for each replicate. Keep one of them.",
    ),
    (
        "blocks: [{pause_after: w3-scoring}]\n",
        "sweep.yaml, line 6: blocks[0].pause_after is 'w3-scoring'. Use w2-rubric: a person reads "
        "the rubrics before they are applied.",
    ),
    (
        "blocks: [{}]\npause_after: true\n",
        "sweep.yaml, line 7: pause_after is true. Use w2-rubric: a person reads the rubrics before "
        "they are applied.",
    ),
    (
        "blocks: [{wording: vanilla}]\n",
        "sweep.yaml, line 6: blocks[0].wording is 'vanilla', and judge-gym has no such wording. "
        "Use standard, concise, courteous, detailed, formal, plain, protocol, questions.",
    ),
    (
        "blocks:\n  - concept: fascism\n    wording: [standard, concize]\n",
        "sweep.yaml, line 8: blocks[0].wording[1] is 'concize', and judge-gym has no such wording. "
        "Did you mean concise? Use standard, concise, courteous, detailed, formal, plain, "
        "protocol, questions.",
    ),
    (
        "description: protests: elections\n",
        "sweep.yaml, line 6: the file is not YAML: mapping values are not allowed here. A text "
        'with ": " needs quotes: description: "protests: elections".',
    ),
    (
        "blocks: [{}]\nconcepts: {facism: {persona: historian}}\n",
        "sweep.yaml, line 7: concepts.facism is a concept of no block. "
        "Did you mean fascism? Use fascism.",
    ),
    (
        "blocks: [{}]\nconcepts: {fascism: {persona: '{{ 1 }}'}}\n",
        "sweep.yaml, line 7: concepts.fascism.persona is '{{ 1 }}'. "
        "Use words such as: political scientist.",
    ),
    (
        "blocks: [{}\n",
        "sweep.yaml, line 7: the file is not YAML: expected ',' or ']', but got '<stream end>'.",
    ),
    (
        "blocks: [{concept: !!python/name:os.system x}]\n",
        "sweep.yaml, line 6: blocks[0].concept has the tag "
        "'tag:yaml.org,2002:python/name:os.system'. Use plain values.",
    ),
]


@pytest.mark.parametrize(("rest", "message"), BLOCKS)
def test_a_wrong_block_is_told_in_full(
    write_blocks: Callable[[str], Path], rest: str, message: str
) -> None:
    assert told(write_blocks(rest)) == message


# `windows.w` is on line 3 and what follows it from line 4.
WINDOWS = [
    (
        "    country: Valmora\n    source: {kind: corpus, path: corpora/valmra.jsonl}\n",
        "sweep.yaml, line 5: windows.w.source.path cannot be used: corpora/valmra.jsonl does not "
        "exist. corpora has ostrand.csv, valmora.jsonl.",
    ),
    (
        "    country: Valmora\n    source: {kind: corpse, path: corpora}\n",
        "sweep.yaml, line 5: windows.w.source.kind is 'corpse'. Did you mean corpus? "
        "Use corpus, benchmark, pairs or firecrawl.",
    ),
    (
        "    country: Valmora\n    source: {kind: corpus, path: corpora, fields: {titel: h}}\n",
        "sweep.yaml, line 5: windows.w.source.fields does not fit: "
        "'titel' is not one of title, url, date, text, truth, category.",
    ),
    (
        "    source: {kind: corpus, path: corpora}\n",
        "sweep.yaml, line 3: windows.w.country is missing. Give text of 1 to 200 characters.",
    ),
    (
        "    country: Valmora\n    querry: courts\n    source: {kind: corpus, path: corpora}\n",
        "sweep.yaml, line 5: windows.w.querry is not a known key. Did you mean query? "
        "Use name, query, country, start, end, max_documents, source, shareable, licence.",
    ),
    (
        "    country: Valmora\n    start: 2026-13-01\n    source: {kind: corpus, path: corpora}\n",
        "sweep.yaml, line 5: windows.w.start is '2026-13-01'. Use a date such as 2026-01-05.",
    ),
    (
        "    country: Valmora\n    source: {kind: firecrawl}\n",
        "sweep.yaml, line 3: windows.w does not fit: "
        "a firecrawl window needs query, start and end.",
    ),
    (
        "    country: Valmora\n    name: v\n    source: {kind: corpus, path: corpora}\n",
        "sweep.yaml, line 5: windows.w.name is filled in when the file is read. Leave it out.",
    ),
    (
        "    country: Valmora\n    source: {kind: corpus, path: corpora}\n"
        "  v:\n    country: Valmora\n    source: {kind: corpus, path: corpora}\n",
        "sweep.yaml, line 6: windows.v is the same evidence as windows.w. Keep one.",
    ),
]


@pytest.mark.parametrize(("rest", "message"), WINDOWS)
def test_a_wrong_window_is_told_in_full(
    write_sweep: Callable[[str], Path], rest: str, message: str
) -> None:
    blocks = "blocks: [{model: sim/calm-1, concept: fascism, window: w}]\n"
    assert told(write_sweep(f"name: demo\nwindows:\n  w:\n{rest}{blocks}")) == message


def test_an_unknown_key_suggests_the_one_meant_and_lists_all(
    write_blocks: Callable[[str], Path],
) -> None:
    message = told(write_blocks("blocks:\n  - scale_sise: 4\n"))

    assert message.startswith(
        "sweep.yaml, line 7: blocks[0].scale_sise is not a known key. Did you mean scale_size? "
        "Use tag, task_type, concept, persona,"
    )
    assert message.endswith("wording, rubric_draw, rubric_per_sample, pause_after.")


def test_a_fault_in_a_rubric_file_is_told_at_both_places(
    write_blocks: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "short.yaml").write_text(
        "stages:\n  - {label: None, criteria: [a, b, c]}\n  - {label: All, criteria: [a, b]}\n"
    )

    assert told(write_blocks("blocks:\n  - rubric: {provided: short.yaml}\n")) == (
        "sweep.yaml, line 7: blocks[0].rubric.provided cannot be used: "
        "short.yaml, line 3: stages[1].criteria is a list of 2. Use a list of 3 to 5 texts."
    )


def test_defaults_take_no_lists(write_sweep: Callable[[str], Path]) -> None:
    text = (
        "name: demo\nwindows: {w: {country: V, source: {kind: corpus, path: corpora}}}\n"
        "defaults: {scale_size: [4, 5]}\nblocks: [{}]\n"
    )
    assert told(write_sweep(text)) == (
        "sweep.yaml, line 3: defaults.scale_size is a list of 2. "
        "Give one value here; a list belongs in a block."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "sweep.yaml, line 1: the file is empty. Use keys and values, such as {key: value}."),
        (
            "- a\n",
            "sweep.yaml, line 1: the file is a list of 1. "
            "Use keys and values, such as {key: value}.",
        ),
        (
            "name: Demo 1\nwindows: {w: {country: V, source: {kind: corpus, path: corpora}}}\n"
            "blocks: [{model: m, concept: c, window: w}]\n",
            "sweep.yaml, line 1: name is 'Demo 1'. Use 1 to 80 small letters, digits and hyphens.",
        ),
        (
            "windows: {}\n",
            "sweep.yaml, line 1: name is missing. Give 1 to 80 small letters, digits and hyphens.",
        ),
        ("name: &a [*a]\n", "nested too deeply"),
        ("a: " + "[" * 600, "nested too deeply"),
        ("a: 1\n---\nb: 1\n", "sweep.yaml, line 2: the file is not YAML"),
        ("a: \x1b[31m\n", "sweep.yaml, line 1: the file is not YAML"),
        ("# " + "x" * MAX_TEXT_BYTES, f"sweep.yaml is longer than {MAX_TEXT_BYTES} bytes."),
    ],
)
def test_a_file_that_is_no_sweep_is_told_in_full(
    write_sweep: Callable[[str], Path], text: str, message: str
) -> None:
    assert message in told(write_sweep(text))


def test_aliases_cannot_multiply_without_end(write_sweep: Callable[[str], Path]) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 7):
        lines.append(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]")

    assert "is one value too many. A file has at most 100000." in told(
        write_sweep("\n".join(lines))
    )


def test_a_missing_sweep_file_says_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "pilot.yaml").write_text("")
    assert told(tmp_path / "sweep.yaml") == (
        "sweep.yaml cannot be read: No such file or directory. FOLDER has pilot.yaml."
    )


def test_a_missing_file_in_a_full_folder_names_the_closest_ones(tmp_path: Path) -> None:
    names = [f"other-{number}.jsonl" for number in range(12)]
    for name in ("corpus-2024.jsonl", "corpus-2025.jsonl", "corpus.csv", "corpora.jsonl", *names):
        (tmp_path / name).write_text("")
    said = told(tmp_path / "corpus-2023.jsonl")
    assert "FOLDER has 16 files and folders; the closest: corpus-202" in said
    assert said.count(".jsonl") == 1 + 3


def told(path: Path) -> str:
    """Return the error of loading `path`, without the name of the temporary folder."""
    with pytest.raises(ConfigError) as caught:
        load_sweep(path)
    folder = str(path.parent)
    return str(caught.value).replace(f"{folder}/", "").replace(folder, "FOLDER")
