"""What the library makes of the reference cases on belief functions (categories "dst.")."""

import numpy as np

from judge_gym.metrics.masses import (
    Masses,
    belief,
    betp,
    conflict,
    dempster,
    dubois_prade,
    gap,
    linear_pool,
    pcr6,
    plausibility,
    singletons,
    yager,
)
from judge_gym.metrics.polarization import jensen_shannon
from support.belief_measures import (
    commonality,
    conjunctive,
    discount,
    jousselme,
    nonspecificity,
    weight_of_conflict,
)


def as_masses(pairs, frame):
    """One mass function from [[subset, mass], ...] on named stages, as a single row."""
    sets = np.array([sum(1 << frame.index(name) for name in subset) for subset, _ in pairs])
    return Masses(sets, np.array([[mass for _, mass in pairs]]), len(frame))


def as_pairs(sets, mass, frame):
    return [
        ([name for place, name in enumerate(frame) if chosen >> place & 1], value)
        for chosen, value in zip(sets, mass, strict=True)
    ]


def combine(given):
    """Every rule, and the mean."""
    frame = given["frame"]
    sources = [as_masses(pairs, frame) for pairs in given["masses"]]
    rules = {
        "dempster": dempster(sources),
        "yager": yager(sources),
        "dubois_prade": dubois_prade(sources),
        "pcr6": pcr6(sources),
        "mean_mass": linear_pool(sources),
    }
    conflicts = {combination.conflict[0].round(12) for combination in rules.values()}
    assert len(conflicts) == 1
    rules["murphy"] = dempster([rules["mean_mass"].masses] * len(sources))
    found = {
        name: one.masses and as_pairs(one.masses.sets, one.masses.mass[0], frame)
        for name, one in rules.items()
    }
    sets, mass = conjunctive(sources)
    found["conjunctive_unnormalised"] = as_pairs(sets, mass[0], frame)
    return found | {"conflict_k": rules["dempster"].conflict[0]}


def measures(given):
    """Every measure of one mass function, over all subsets."""
    frame = given["frame"]
    masses = as_masses(given["mass"], frame)
    subsets = np.arange(1, 1 << len(frame))
    found = {
        measure.__name__: as_pairs(subsets, measure(masses, subsets)[0], frame)
        for measure in (belief, plausibility, commonality)
    }
    points = singletons(len(frame))
    each = plausibility(masses, points)[0] - belief(masses, points)[0]
    return found | {
        "pignistic": dict(zip(frame, betp(masses)[0], strict=True)),
        "singleton_gap": dict(zip(frame, each, strict=True)),
        "mean_singleton_gap": gap(masses)[0],
        "hartley_bits": nonspecificity(masses)[0],
    }


def conflicts(given):
    first, second = (as_masses(pairs, given["frame"]) for pairs in given["masses"])
    return {
        "conflict_k": conflict(first, second)[0],
        "weight_of_conflict_nats": weight_of_conflict(first, second)[0],
        "jsd_bits": jensen_shannon(betp(first), betp(second))[0],
    }


def discounted(given):
    found = discount(as_masses(given["mass"], given["frame"]), given["reliability"])
    return {"mass": as_pairs(found.sets, found.mass[0], given["frame"])}


def distance(given):
    first, second = (as_masses(pairs, given["frame"]) for pairs in given["masses"])
    return {"jousselme": jousselme(first, second)[0]}
