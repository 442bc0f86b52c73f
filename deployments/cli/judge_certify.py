"""`judge-gym judge certify` and `judge certificate`: what labels show of a judge, and its check."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli import options
from deployments.cli.json_output import json_output
from deployments.cli.output import console, errors, show_table
from deployments.cli.study import StudyCommand, show_parts
from judge_gym.counting import counted

_Certificate = Annotated[Path, typer.Argument(help="The certificate (JSON).", show_default=False)]
_Judge = Annotated[
    Path, typer.Argument(help="The judge file (YAML) with certify.", show_default=False)
]
_Items = Annotated[
    Path | None,
    typer.Option(
        help="Labelled texts (CSV, Excel, JSON, JSONL).",
        show_default="those of certify, or of the gate",
    ),
]
_Out = Annotated[
    Path | None,
    typer.Option(help="Write the certificate to this file.", show_default="beside the judge"),
]
_Data = Annotated[
    Path | None,
    typer.Option(
        help="Write the evidence to this folder: keys, verdicts, labels; no text.",
        show_default="beside the certificate",
    ),
]
_Sign = Annotated[
    Path | None,
    typer.Option(help="Sign with this private Ed25519 key (PEM).", show_default=False),
]


def certify(
    file: _Judge,
    labels: options.Labels = None,
    label_fields: options.LabelFields = None,
    items: _Items = None,
    fields: options.Fields = None,
    out: _Out = None,
    data: _Data = None,
    sign: _Sign = None,
    plan: options.PlanOnly = False,
    retry_failed: options.RetryFailed = False,
    as_json: options.AsJson = False,
) -> None:
    """Certify a judge by people's labels: bounds, for which use, until when.

    Exits with 0 if what its file requires is shown in every slice, 1 if it is shown to be missed,
    3 if the labels cannot tell.
    """
    from judge_gym.studies import certify as studies

    changes: dict[str, object] = {}
    columns = options.fields_of(items, fields)
    label_columns = options.label_fields_of(labels, label_fields)
    if items:
        changes |= {"items": items, **({"fields": columns} if columns else {})}
    if labels:
        changes |= {"labels": labels, **({"label_fields": label_columns} if label_columns else {})}
    study = studies.certify(file, out, data, sign, changes)
    if (ended := StudyCommand([file], plan, retry_failed, as_json).run(study)) is None:
        return
    written = ended.report.value
    console.plain(f"Certificate: {written['certificate']}. Evidence: {written['data']}.")
    ended.exit(by_verdict=True)


def show(file: _Certificate, as_json: options.AsJson = False) -> None:
    """Show what a certificate says of a judge."""
    from judge_gym.judges.certifying.certificate import read_certificate, was_changed
    from judge_gym.report.certificate import sentences, tables

    certificate = read_certificate(file)
    if as_json:
        json_output.give(certificate.model_dump(mode="json"))
    else:
        show_parts(
            tables(certificate), sentences(certificate), simulated=certificate.judge.simulated
        )
    if fault := was_changed(certificate):
        errors.warn(f"{fault}.", soft_wrap=True)


def verify(
    file: _Certificate,
    data: Annotated[Path, typer.Option(help="The folder with its evidence.", show_default=False)],
    judge: Annotated[
        Path | None,
        typer.Option(help="The judge file that it is to be of.", show_default=False),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="The public key (PEM) that it is to be signed with.", show_default=False),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Recompute every figure of a certificate, without database or network.

    Exits with 1 if a figure differs, or if it was changed, has ended or is of another judge or key.
    """
    from judge_gym.judges import load_judge
    from judge_gym.judges.certifying.certificate import read_certificate
    from judge_gym.judges.certifying.verifying import verified
    from judge_gym.report.certificate import shown

    certificate = read_certificate(file)
    found = verified(certificate, data, judge=load_judge(judge) if judge else None, key=key)
    if as_json:
        json_output.give(
            {
                "holds": not found.fault,
                "use": certificate.findings.use,
                "figures": found.figures,
                "checks": [{"check": name, "fault": fault} for name, fault in found.checks],
            }
        )
    else:
        rows = [(name, "no" if fault else "yes", fault) for name, fault in found.checks]
        show_table(f"Certificate of {certificate.judge.name}", ("check", "holds", "why"), rows)
        holds = f"does not hold: {found.fault}" if found.fault else "holds"
        figures = f"{counted(found.figures, 'figure')} recomputed"
        line = f"The certificate {holds}. {figures[0].upper()}{figures[1:]}."
        console.plain(line)
        if not found.fault:
            console.plain(f"It says of {shown(certificate)}")
    raise typer.Exit(1 if found.fault else 0)
