"""Compute the headline figures of this package again, with numpy and the standard library alone.

    python reanalyse.py [FOLDER]

Reads `bundle/*.csv`, written by PostgreSQL, and compares with `figures/figures.csv`. It shares no
code with judge-gym. Over several wordings or rubric draws a figure is that of the samples of all
of them together, or the mean of its values by item and level, each counted the same: see
`recomputed`. Figures agree to the printed digits: four decimals, and two where a floor was
found by permutation, which is random. Exits with 1 if one does not agree.

- polarization: P, the mean over items of the mean Jensen-Shannon divergence (bits) between the
  verdict distributions of judge families; floor: P0, the same when the samples of an item are
  permuted between judges; polarization_excess: P - P0
- overconfidence: probed probability less the share of the other judges' verdicts that are the same
- confidence: mean probed probability
- accuracy: share of verdicts at the true stage
- swap_sensitivity, sham_sensitivity: change of the probed probability under another rubric
- abstention_rate: abstentions among verdicts and abstentions
- replicate_variance: variance of the 0-1 score over replicates, 3 at least
- control_error: mean distance of the 0-1 score from the index
"""

import csv
import hashlib
import json
import sys
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np

PERMUTATIONS = 2000
EXACT, RANDOM = 0.00005, 0.005
FIGURES = {
    "polarization", "polarization_excess", "overconfidence", "confidence", "accuracy",
    "swap_sensitivity", "sham_sensitivity", "abstention_rate", "replicate_variance",
    "control_error",
}  # fmt: skip
FACETS = ("wording", "rubric_draw")
OF_ALL_SAMPLES = {"polarization", "polarization_excess", "abstention_rate"}
SUBJECTS = {"judge", "rival", "arm", "category"}
csv.field_size_limit(2**31 - 1)


def rows_of(folder, table):
    with (folder / "bundle" / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class PackagedJudgements:
    """The judgements of the package: samples and probes by experiment and arm."""

    def __init__(self, folder):
        sweep = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["sweep"]
        number = next(row["id"] for row in rows_of(folder, "sweeps") if row["name"] == sweep)
        declared = {
            row["experiment_id"]: int(row["replicates"])
            for row in rows_of(folder, "sweep_experiments")
            if row["sweep_id"] == number
        }
        windows = {row["id"]: row["name"] or row["key"] for row in rows_of(folder, "windows")}
        self.rubrics = {row["id"]: row for row in rows_of(folder, "rubrics")}
        self.experiments = [
            {**row, "config": json.loads(row["config"]), "window": windows[row["window_id"]]}
            for row in rows_of(folder, "experiments")
            if row["id"] in declared
        ]
        self.arms = defaultdict(list)
        arms = {row["id"]: row for row in rows_of(folder, "arms")}
        for arm in arms.values():
            self.arms[arm["experiment_id"]].append(arm)
        self.samples, self.probes, kept = defaultdict(list), defaultdict(list), {}
        for row in rows_of(folder, "samples"):
            experiment = arms[row["arm_id"]]["experiment_id"]
            if experiment in declared and int(row["replicate"]) < declared[experiment]:
                kept[row["id"]] = row
                self.samples[row["arm_id"]].append(row)
        answered = defaultdict(list)
        for row in rows_of(folder, "probes"):
            if row["sample_id"] in kept and row["status"] == "answered":
                answered[row["sample_id"]].append(float(row["probability"]))
        for sample_id, given in answered.items():  # the mean of a sample that was probed twice
            sample = kept[sample_id]
            probe = (sample["item_id"], int(sample["stages"]), sum(given) / len(given))
            self.probes[sample["arm_id"]].append(probe)
        self._read_truth(folder)

    def _read_truth(self, folder):
        documents = {row["id"]: row for row in rows_of(folder, "documents")}
        shown = defaultdict(list)
        for row in rows_of(folder, "item_documents"):
            shown[row["item_id"]].append(documents[row["document_id"]])
        self.value, self.label, self.category = {}, {}, {}
        for item, of_item in shown.items():
            values = [float(one["truth_value"]) for one in of_item if one["truth_value"]]
            if len(values) == len(of_item):
                self.value[item] = sum(values) / len(values)
            if len(of_item) == 1:
                self.label[item] = of_item[0]["truth_label"]
                self.category[item] = of_item[0]["category"]

    def arm(self, experiment, kind, rival=None):
        """The ids of an experiment's arms of a kind, or of the one with a rival's rubric."""
        return [
            arm["id"]
            for arm in self.arms[experiment["id"]]
            if arm["arm"] == kind
            and (rival is None or self.rubrics[arm["rubric_id"]]["owner_model"] == rival)
        ]

    def scored(self, arms):
        """Item -> the sets of stages of its scored samples, as bit masks."""
        cells = defaultdict(list)
        for arm in arms:
            for row in self.samples[arm]:
                if row["status"] == "scored":
                    cells[row["item_id"]].append(int(row["stages"]))
        return cells

    def probed(self, arms):
        """Item -> (set of stages, probability) of its probes, one per sample."""
        cells = defaultdict(list)
        for arm in arms:
            for item, stages, probability in self.probes[arm]:
                cells[item].append((stages, probability))
        return cells


def level(config, name):
    value = config.get(name)
    if name == "rubric":
        return rubric_text(value)[0]
    if isinstance(value, dict):
        mapping = value.get("mapping")
        return f"swapped {mapping['name']}" if mapping else value.get("kind")
    return value


def rubric_text(rubric):
    """How a scope may name a rubric; one of several provided ones has its file or digest."""
    if rubric["kind"] != "provided":
        model = rubric.get("model")
        return (f"shared by {model}" if rubric["kind"] == "shared" else rubric["kind"],)
    text = json.dumps(
        ["rubric", rubric["rubric"]["stages"]],
        sort_keys=True, separators=(",", ":"), ensure_ascii=False,
    )  # fmt: skip
    file = rubric.get("name", "")
    names = (file, file.rpartition("/")[2], hashlib.sha256(text.encode()).hexdigest()[:8])
    return ("provided", *(f"provided {name}" for name in names if name))


def levels_of(sweep, scope):
    """{levels of the facets: the experiments that a figure compares there}.

    Empty if the scope is one that this script cannot read.
    """
    chosen = defaultdict(list)
    for one in sweep.experiments:
        config = one["config"]
        facts = {"concept": one["concept"], "country": one["country"], "window": one["window"]}
        about = {name: value for name, value in scope.items() if name not in SUBJECTS}
        if about.pop("rubric", None) not in rubric_text(config["rubric"]):
            continue
        if any(name not in facts and name not in config for name in about):
            return {}
        if all(facts.get(name, level(config, name)) == value for name, value in about.items()):
            chosen[tuple(level(config, name) for name in FACETS)].append(one)
    for group in chosen.values():
        if len({one["model"] for one in group}) < len(group):
            return {}
    return chosen if "wording" in scope else at_shared_wordings(chosen)


def at_shared_wordings(chosen):
    """The levels under wordings that all judges have; of pairs, all levels."""
    models = defaultdict(set)
    for at, group in chosen.items():
        models[at[0]] |= {one["model"] for one in group}
    every = set().union(*models.values())
    sources = [one["config"]["window"]["source"] for group in chosen.values() for one in group]
    if any(one["kind"] == "pairs" or one.get("pairwise") for one in sources):
        return chosen
    return {at: group for at, group in chosen.items() if models[at[0]] == every}


def stages_in(mask):
    return [stage for stage in range(1, mask.bit_length() + 1) if mask >> (stage - 1) & 1]


def weights(masks, size):
    """Each verdict as a distribution over the stages: a set counts in equal parts."""
    table = np.zeros((len(masks), size))
    for row, mask in enumerate(masks):
        named = stages_in(mask)
        table[row, [stage - 1 for stage in named]] = 1 / len(named)
    return table


def score(mask, size):
    return (np.mean(stages_in(mask)) - 1) / (size - 1)


def entropy(p):
    return -(p * np.log2(np.where(p > 0, p, 1))).sum(axis=-1)


def divergence(p):
    """Mean over pairs of the Jensen-Shannon divergence; p is (..., families, stages)."""
    pairs = list(combinations(range(p.shape[-2]), 2))
    return np.mean(
        [
            entropy((p[..., a, :] + p[..., b, :]) / 2)
            - (entropy(p[..., a, :]) + entropy(p[..., b, :])) / 2
            for a, b in pairs
        ],
        axis=0,
    )


class ComparedJudges:
    """Judges of one comparison and the items that all of them scored.

    A judge has one experiment, or one for each wording and rubric draw: their samples together.
    """

    def __init__(self, sweep, experiments):
        self.sweep, self.size = sweep, int(experiments[0]["scale_size"])
        self.of = defaultdict(list)
        for one in sorted(experiments, key=lambda one: one["model"]):
            self.of[one["model"]].append(one)
        cells = {model: sweep.scored(self.arms(model, "own")) for model in self.of}
        self.own = {model: own for model, own in cells.items() if own}
        items = [set(own) for own in self.own.values()]
        self.common = sorted(set.intersection(*items)) if items else []

    def arms(self, judge, kind, rival=None):
        """The arms of a kind of a judge's experiments."""
        return [arm for one in self.of[judge] for arm in self.sweep.arm(one, kind, rival)]

    def polarization(self):
        """Item -> (P, P0): over families, the judges of a family averaged first."""
        families = sorted({self.of[model][0]["family"] for model in self.own})
        members = [
            [place for place, model in enumerate(self.own) if self.of[model][0]["family"] == family]
            for family in families
        ]
        rng = np.random.default_rng(20260101)
        apart = {}
        for item in self.common:
            masks = [own[item] for own in self.own.values()]
            table = weights([mask for cell in masks for mask in cell], self.size)
            ends = np.cumsum([len(cell) for cell in masks])
            orders = np.argsort(rng.random((PERMUTATIONS, len(table))), axis=1)
            orders = np.vstack([np.arange(len(table)), orders])
            blocks = np.split(table[orders], ends[:-1], axis=1)
            p = np.stack([block.mean(axis=1) for block in blocks], axis=1)
            values = divergence(np.stack([p[:, own].mean(axis=1) for own in members], axis=1))
            apart[item] = values[0], values[1:].mean()
        return apart

    def overconfidence(self, judge):
        probes = {model: self.sweep.probed(self.arms(model, "own")) for model in self.own}
        gaps = {}
        for item in self.common if len(probes) > 1 else ():
            if any(item not in probed for probed in probes.values()):
                continue
            others = [own[item] for model, own in self.own.items() if model != judge]
            gaps[item] = np.mean([
                probability - np.mean([cell.count(stages) / len(cell) for cell in others])
                for stages, probability in probes[judge][item]
            ])  # fmt: skip
        return gaps

    def confidence(self, judge):
        probed = self.sweep.probed(self.arms(judge, "own"))
        return {
            item: np.mean([probability for _, probability in probed[item]])
            for item in self.common
            if item in probed
        }

    def sensitivity(self, judge, kind, rival):
        own = self.sweep.probed(self.arms(judge, "own"))
        other = self.sweep.probed(self.arms(judge, kind, rival))
        means = [
            {item: np.mean([p for _, p in cell]) for item, cell in probed.items()}
            for probed in (own, other)
        ]
        return {item: means[1][item] - means[0][item] for item in means[0].keys() & means[1]}

    def abstention_rate(self, judge, kind):
        arms = self.arms(judge, kind)
        count = Counter(row["status"] for arm in arms for row in self.sweep.samples[arm])
        return {None: count["abstained"] / (count["abstained"] + count["scored"])}

    def replicate_variance(self, judge):
        cells = {item: self.own[judge][item] for item in self.common}
        return {
            item: np.var([score(mask, self.size) for mask in cell], ddof=1)
            for item, cell in cells.items()
            if len(cell) >= 3
        }

    def _truth(self, experiment):
        """Item -> (true stage, index in [0, 1]), where it is known."""
        truth = experiment["config"]["ground_truth"]
        arm = next(arm for arm in self.sweep.arms[experiment["id"]] if arm["arm"] == "own")
        stages = json.loads(self.sweep.rubrics[arm["rubric_id"]]["stages"])
        number = {stage["label"].strip().casefold(): n for n, stage in enumerate(stages, start=1)}
        known = {}
        for item in self.own[experiment["model"]]:
            value, label = truth.get("value"), truth.get("label")
            if truth.get("per_item"):
                value, label = self.sweep.value.get(item), self.sweep.label.get(item)
            if value is not None:
                known[item] = 1 + int(np.floor(value * (self.size - 1) + 0.5)), value
            elif label and label.strip().casefold() in number:
                stage = number[label.strip().casefold()]
                known[item] = stage, (stage - 1) / (self.size - 1)
        return known

    def _against_truth(self, judge, items, value_of):
        """Item -> its values, a value of each verdict and what is known."""
        values = defaultdict(list)
        for one in self.of[judge]:
            cells = self.sweep.scored(self.sweep.arm(one, "own"))
            for item, known in self._truth(one).items():
                if item in items and item in cells:
                    values[item] += [value_of(mask, *known) for mask in cells[item]]
        return values

    def accuracy(self, judge, category):
        """Item -> for each verdict, whether it is the true stage."""
        recorded = self.of[judge][0]["config"]["window"]["source"]["kind"] == "recorded"
        items = {
            item
            for item in (self.own[judge] if recorded else self.common)
            if category in (None, self.sweep.category.get(item))
        }
        return self._against_truth(judge, items, lambda mask, stage, _: mask == 1 << (stage - 1))

    def control_error(self, judge):
        apart = self._against_truth(
            judge, set(self.common), lambda mask, _, index: abs(score(mask, self.size) - index)
        )
        return {item: np.mean(values) for item, values in apart.items()}


def recomputed(sweep, name, scope):
    """{value: (number, tolerance)} of a figure; empty if this script cannot read its scope.

    Over several levels of facets, a figure that compares the samples of judges takes those of all
    levels together. Another one is the mean over its `complete_block` of items and levels; where
    there is no such block, or all is equal in it, it too is of all samples.
    """
    levels = levels_of(sweep, scope)
    if not levels:
        return {}
    whole = of_group(sweep, [one for group in levels.values() for one in group], name, scope)
    if len(levels) > 1 and name not in OF_ALL_SAMPLES:
        by_level = {at: of_group(sweep, group, name, scope) for at, group in levels.items()}
        block = complete_block({at: by_item(values) for at, values in by_level.items() if values})
        if block is not None:
            return {"estimate": (block.mean(), EXACT)}
    if not whole:
        return {}
    if name == "accuracy":  # of one level, or of all together, each verdict counts the same
        return {"estimate": (np.mean([right for cell in whole.values() for right in cell]), EXACT)}
    means = np.mean(list(whole.values()), axis=0)
    if name == "polarization":
        return {"estimate": (means[0], EXACT), "floor": (means[1], RANDOM)}
    if name == "polarization_excess":
        return {"estimate": (means[0] - means[1], RANDOM)}
    return {"estimate": (means, EXACT)}


def by_item(values):
    return {item: np.mean(of_item) for item, of_item in values.items()}


def complete_block(by_level):
    """Values on items x levels of each facet that varies, without a gap; None if nothing varies.

    Where a value is missing, the level (of items first) that misses the largest share is left out,
    all such items at once and a level of another facet alone, until none is missing.
    """
    items = sorted({item for values in by_level.values() for item in values})
    names = [sorted({at[place] for at in by_level}) for place in range(len(FACETS))]
    names = {place: found for place, found in enumerate(names) if len(found) > 1}
    if not names:
        return None
    table = np.full((len(items), *map(len, names.values())), np.nan)
    for at, values in by_level.items():
        place = tuple(found.index(at[facet]) for facet, found in names.items())
        for row, item in enumerate(items):
            table[(row, *place)] = values.get(item, np.nan)
    while table.size and np.isnan(table).any():
        missing = np.isnan(table)
        axes = range(table.ndim)
        shares = [missing.mean(axis=tuple(one for one in axes if one != axis)) for axis in axes]
        worst = max(axes, key=lambda axis: shares[axis].max())
        left = shares[worst] < shares[worst].max()
        if worst > 0 or not left.any():
            left = np.arange(len(left)) != shares[worst].argmax()
        table = table.compress(left, axis=worst)
    if not table.size or min(table.shape) < 2 or np.ptp(table) < 1e-9:
        return None
    return table


def of_group(sweep, experiments, name, scope):
    """Item -> the figure on it; accuracy: its verdicts; a rate of all verdicts: None -> the rate.

    Empty where the judge has no verdict.
    """
    group, judge = ComparedJudges(sweep, experiments), scope.get("judge")
    if name in ("polarization", "polarization_excess"):
        return group.polarization()
    if judge not in group.of or (judge not in group.own and name != "abstention_rate"):
        return {}
    return {
        "overconfidence": lambda: group.overconfidence(judge),
        "confidence": lambda: group.confidence(judge),
        "accuracy": lambda: group.accuracy(judge, scope.get("category")),
        "swap_sensitivity": lambda: group.sensitivity(judge, "swap", scope.get("rival")),
        "sham_sensitivity": lambda: group.sensitivity(judge, "sham", None),
        "abstention_rate": lambda: group.abstention_rate(judge, scope.get("arm")),
        "replicate_variance": lambda: group.replicate_variance(judge),
        "control_error": lambda: group.control_error(judge),
    }[name]()


def main(folder):
    sweep = PackagedJudgements(folder)
    with (folder / "figures" / "figures.csv").open(newline="", encoding="utf-8") as file:
        figures = list(csv.DictReader(file))
    agreeing, left, apart = Counter(), 0, []
    for row in figures:
        name = row["name"].removesuffix("_mixed")
        if name not in FIGURES or not row["estimate"]:
            continue
        values = recomputed(sweep, name, json.loads(row["scope"]))
        left += not values
        if not values and row["plan"] != "exploratory":
            print(f"NOT CHECKED HERE {row['plan']}: {row['name']} {row['scope']}")
        for field, (value, tolerance) in values.items():
            if not abs(value - float(row[field])) <= tolerance:  # also for a NaN
                digits = 2 if tolerance == RANDOM else 4
                published = f"{float(row[field]):.{digits}f}"
                apart.append(
                    f"{row['name']} {row['scope']}, {field}: {published}, here {value:.{digits}f}"
                )
            else:
                agreeing[f"{row['name']}, {field}"] += 1
    for name, count in sorted(agreeing.items()):
        print(f"{name}: {count} agree")
    for line in apart[:40]:
        print(f"DIFFERS {line}")
    print(f"{sum(agreeing.values())} values agree, {len(apart)} differ; {left} figures left out "
          "(settings that the scope does not name)")  # fmt: skip
    return 1 if apart or not agreeing else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent))
