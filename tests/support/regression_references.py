"""What the library makes of the reference cases on regression."""

import numpy as np

from judge_gym.metrics.regression import least_squares
from judge_gym.metrics.regression_checks import mixed_model, ordered_logit
from support.references import read_csv


def clustered(given):
    rows = read_csv(given["csv"])
    outcome = np.array([float(row["y"]) for row in rows])
    design = np.array([[1.0, float(row["x"])] for row in rows])
    found = {}
    for cluster in given["clusters"]:
        item = np.array([int(row[cluster]) for row in rows])
        fitted = least_squares(["intercept", "x"], design, outcome, item)
        found["coef"] = [one.estimate.estimate for one in fitted]
        found[f"cl_{cluster}"] = [one.standard_error for one in fitted]
    return found


def ordinal(given):
    rows = read_csv(given["csv"])
    design = np.array([[r["temp"] == "warm", r["contact"] == "yes"] for r in rows], dtype=float)
    stage, judge = (np.array([int(row[name]) for row in rows]) for name in ("rating", "judge"))
    warm, contact = ordered_logit(["warm", "contact"], design, stage, judge)
    return {"clm.tempwarm": warm.estimate.estimate, "clm.contactyes": contact.estimate.estimate}


def mixed(given):
    rows = read_csv(given["csv"])
    design = np.array([[1.0, float(row["days"])] for row in rows])
    outcome, subject = (
        np.array([kind(row[name]) for row in rows]) for kind, name in ((float, "y"), (int, "s"))
    )
    found = mixed_model(["intercept", "days"], design, outcome, {"item": subject}, unit="ms")
    values = {one.name: one.estimate.estimate for one in found}
    return {
        "fixef": [values["intercept"], values["days"]],
        "se": [one.standard_error for one in found[:2]],
        "var_subject": values["variance of item"],
        "var_resid": values["variance of residual"],
    }
