"""The recipe of an experiment: the templates, utility model and settings that its answers need.

An experiment with another recipe is stored as another experiment at the same point of the design
space, so its judgements, views and rubrics never mix with those of the first.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from judge_gym.design.experiment import EvidenceView, Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.probing import Probing
from judge_gym.design.strategies.rubrics import Rubrics
from judge_gym.design.strategies.view import VIEWS, Viewing
from judge_gym.design.strategies.wording import Wording
from judge_gym.prompts import NOTHING_BOUND, template_hash
from judge_gym.seeds import digest

Recipe = dict[str, str]
"""Name of a template → its hash, and the names below → their values."""

UTILITY_MODEL, SUMMARY_WORDS, CLEANER = "utility_model", "summary_words", "cleaner"
LIBRARY = "library"
VIEW_TEMPLATES: Mapping[EvidenceView, str] = {
    "cleaned": "clean",
    "neutralized": "neutralize",
    "abstracted": "abstract",
}
_NEEDED_BY_VIEW: Mapping[EvidenceView, tuple[str, ...]] = {
    "cleaned": (CLEANER, "clean"),
    "neutralized": ("neutralize", SUMMARY_WORDS, UTILITY_MODEL),
    "abstracted": ("abstract", SUMMARY_WORDS, UTILITY_MODEL),
}
RUBRIC_TEMPLATES = ("rubric", "rubric_again", "critic")


@dataclass(frozen=True)
class Utility:
    """The model that edits evidence and rates rubrics, and the settings of views."""

    model: str
    summary_words: int
    cleaner: str


@dataclass(frozen=True, order=True)
class Change:
    """One part of a recipe that is another now."""

    name: str
    before: str
    now: str

    @property
    def is_template(self) -> bool:
        return self.name not in (UTILITY_MODEL, SUMMARY_WORDS, CLEANER)

    def __str__(self) -> str:
        what = f"the template {self.name}.j2" if self.is_template else self.name
        return f"{what} changed from {self.before or 'nothing'} to {self.now or 'nothing'}"


def recipe_of(experiment: Experiment, utility: Utility) -> Recipe:
    """Return the recipe of an experiment with the templates as they are now."""
    strategies = resolve(experiment)
    probe = strategies.of(Probing).template
    bound = experiment.expertise.bound
    score = strategies.of(Wording).template
    recipe = _hashes((score, probe), bound) | recipe_of_views(
        strategies.of(Viewing).to_make, utility
    )
    if strategies.of(Rubrics).owner:
        recipe |= {**_hashes(RUBRIC_TEMPLATES, bound), UTILITY_MODEL: utility.model}
    return recipe


def recipe_of_views(views: Collection[EvidenceView], utility: Utility) -> Recipe:
    """Return the part of a recipe that these views need; they include those they are made from."""
    recipe: Recipe = {}
    for view in views:
        if view == "cleaned":
            recipe[CLEANER] = utility.cleaner
            if utility.cleaner == LIBRARY:
                continue
        else:
            recipe[SUMMARY_WORDS] = str(utility.summary_words)
        recipe |= {**_hashes([VIEW_TEMPLATES[view]]), UTILITY_MODEL: utility.model}
    return recipe


def view_recipes(recipe: Recipe) -> dict[str, str]:
    """Return view → digest of all that makes it, for the views that the recipe has."""
    digests: dict[str, str] = {}
    before = ""
    for view in VIEWS[1:]:
        needed = _NEEDED_BY_VIEW[view]
        if needed[0] not in recipe:
            break
        if view == "cleaned" and recipe[CLEANER] != LIBRARY:
            needed = (*needed, UTILITY_MODEL)
        parts = {name: recipe[name] for name in needed if name in recipe}
        before = digests[view] = digest("view recipe", before, parts)
    return digests


def rubric_recipe(recipe: Recipe) -> str:
    """Return the digest of all that makes the experiment's rubric; empty if it is provided."""
    if "rubric" not in recipe:
        return ""
    names = (*RUBRIC_TEMPLATES, UTILITY_MODEL)
    return digest("rubric recipe", {name: recipe.get(name, "") for name in names})


def recipe_digest(recipe: Recipe) -> str:
    """Return 16 digits that differ for different recipes."""
    return digest("recipe", recipe)


def changes(before: Recipe | None, now: Recipe) -> tuple[Change, ...]:
    """Return what differs between two recipes, by name."""
    before = before or {}
    return tuple(
        Change(name, before.get(name, ""), now.get(name, ""))
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    )


def _hashes(templates: Collection[str], bound: Mapping[str, str] = NOTHING_BOUND) -> Recipe:
    return {template: template_hash(template, bound) for template in templates}
