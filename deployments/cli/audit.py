"""`judge-gym audit`: recorded judgements of others in, one page out, without a database."""

from deployments.cli.options import RecordedFiles, RecordedMapping
from deployments.cli.output import command


def audit(files: RecordedFiles, mapping: RecordedMapping) -> None:
    """Audit judgements recorded elsewhere: one page, no key, no database.

    Prints accuracy, preference for place and length, independent votes and what depends on the
    wording.
    """
    from deployments.cli.results import show_headlines
    from judge_gym.analysis.recorded import audited
    from judge_gym.recorded.mapping import load_recorded
    from judge_gym.recorded.reading import recorded_files
    from judge_gym.report.page import save_report
    from judge_gym.report.recorded import audit_report
    from judge_gym.settings import settings

    recorded, rubric = load_recorded(mapping)
    report = audit_report(audited(recorded_files(files, recorded), recorded, rubric), recorded)
    file = save_report(report, settings().reports_dir, "audit")
    stored = f"{command()} data import-verdicts, with the same files and mapping"
    show_headlines(report, [("Report", str(file.resolve())), ("Store it", stored)])
