"""The judge file that an alignment writes, with where it comes from."""

import io
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from judge_gym import writable
from judge_gym.design.config import corpus_digest
from judge_gym.errors import ConfigError
from judge_gym.judges.aligning.running import AlignmentOutcome, AlignmentReport, SideBySide
from judge_gym.judges.aligning.splitting import TEXT_DIGITS, LabelUse, digest_of, same_text
from judge_gym.judges.files import load_judge, paths_of
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.provenance import AlignedFigure, Provenance

_SUFFIX = "-aligned"
_LONGEST_NAME = 100
_WIDTH = 100


def aligned_path(judge_file: Path) -> Path:
    """Return where an aligned judge is written by default: `notes-aligned.yaml` for notes.yaml."""
    stem = judge_file.stem.removesuffix(_SUFFIX)
    return judge_file.with_name(f"{stem}{_SUFFIX}{judge_file.suffix}")


def check_writable(path: Path, judge_file: Path, *, replace: bool) -> None:
    """Raise `ConfigError` when the file cannot be written, or no alignment of this judge wrote the
    one that is there."""
    writable.check_writable("out", path)
    if replace or not path.exists():
        return
    made = load_judge(path).provenance
    own = path.resolve() == judge_file.resolve()
    if not own and made is not None and made.before == load_judge(judge_file).key:
        return
    raise _in_the_way(path)


def written_judge(report: AlignmentReport, path: Path, *, always: bool, replace: bool) -> str:
    """Write the chosen judge if its gain survives, or `always`; returns where it is, or ""."""
    survives = report.outcome is AlignmentOutcome.SURVIVES
    if report.test is None or not (always or survives):
        return ""
    write_judge(report, path, replace=replace)
    return str(path)


def write_judge(report: AlignmentReport, path: Path, *, replace: bool) -> bool:
    """Write the chosen judge with its provenance; returns whether the file changed.

    Raises `ConfigError` when another file is there, unless it is to be replaced.
    """
    judge = aligned_judge(report)
    text = yaml_of(judge, path)
    if path.exists():
        old = load_judge(path)
        same = old.provenance is not None and judge.provenance is not None
        if same and (old.key, _of_run(old.provenance)) == (judge.key, _of_run(judge.provenance)):
            return False
        if not replace:
            raise _in_the_way(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
    return True


def _in_the_way(path: Path) -> ConfigError:
    return ConfigError(f"{path} exists.", "Name another file with --out, or add --replace.")


def _of_run(made: Provenance | None) -> tuple[str, str] | None:
    """Return what two files of one run have in common, whichever judge-gym wrote them."""
    return None if made is None else (made.before, made.test_digest)


def aligned_judge(report: AlignmentReport) -> ModelJudge:
    """Return the chosen candidate under a name of its own, with the gate of the judge before."""
    loaded, chosen = report.loaded, report.chosen
    assert chosen is not None
    assert chosen.candidate.judge is not None
    before = loaded.judge
    name = before.name.removesuffix(_SUFFIX)[: _LONGEST_NAME - len(_SUFFIX)]
    return chosen.candidate.judge.model_copy(
        update={
            "name": f"{name}{_SUFFIX}",
            "budget": before.budget,
            "gate": before.gate,
            "certify": before.certify,
            "provenance": _provenance(report),
        }
    )


def _provenance(report: AlignmentReport) -> Provenance:
    loaded, chosen, look, test = report.loaded, report.chosen, report.look, report.test
    assert chosen is not None
    assert chosen.development
    assert look
    assert test
    design = loaded.design
    return Provenance(
        alignment=design.name,
        candidate=chosen.candidate.name,
        survives=report.outcome is AlignmentOutcome.SURVIVES,
        looks=len(look.earlier) + 1,
        looked_at=look.at.isoformat(timespec="seconds"),
        before=loaded.judge.key,
        judge_gym=version("judge-gym"),
        seed=design.split.seed,
        development_share=design.split.development,
        test_share=design.split.test,
        labels={part.value: loaded.parts.count(part) for part in LabelUse},
        items_digest=corpus_digest(design.items),
        labels_digest=corpus_digest(design.labels) if design.labels else "",
        test_digest=digest_of(look.items),
        chosen_on=" ".join(
            sorted(
                same_text(item)[:TEXT_DIGITS]
                for part in (LabelUse.TRAINING, LabelUse.DEVELOPMENT)
                for item in loaded.parts.texts[part]
            )
        ),
        development=_figure(chosen.development),
        test=_figure(test),
        proposer=design.proposer.model if design.proposer else "",
        cost_usd=report.cost_usd,
        simulated=loaded.simulated,
    )


def _figure(side: SideBySide) -> AlignedFigure:
    figures = {
        "before": side.before.estimate,
        "after": side.after.estimate,
        "gain": side.gain.estimate,
        "lower": side.gain.lower,
        "upper": side.gain.upper,
    }
    rounded = {name: None if one is None else round(one, 4) for name, one in figures.items()}
    return AlignedFigure(texts=side.texts, **rounded)


def yaml_of(judge: ModelJudge, path: Path) -> str:
    """Return a judge as the text of a file at `path`; what has its default value is left out."""
    config: dict[str, Any] = {"kind": judge.kind, "name": judge.name, "model": judge.model}
    config |= judge.model_dump(mode="json", exclude_defaults=True)
    for name, rule in (("gate", judge.gate), ("certify", judge.certify)):
        if rule is not None:
            config[name] = rule.model_dump(mode="json", exclude_defaults=True) | {
                key: os.path.relpath(file, path.parent) for key, file in paths_of(rule).items()
            }
    config.pop("provenance", None)
    if judge.provenance is not None:  # last, after what a person edits
        config["provenance"] = judge.provenance.model_dump(mode="json")
    yaml, text = YAML(), io.StringIO()
    yaml.width, yaml.allow_unicode = _WIDTH, True
    yaml.dump(config, text)
    return text.getvalue()
