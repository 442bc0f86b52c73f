"""Published figures beside those of a sweep: what was published, planted and recovered.

The published figures stand in a file of their own (YAML), each with the figure of this project that
is the same quantity. On stand-ins, what is planted in them stands between.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.figures.regimes import CANNOT_TELL
from judge_gym.analysis.planted_shapes import planted_regime, planted_value
from judge_gym.analysis.recoveries import PlantedSweep, read_planted
from judge_gym.design.published import PublishedFigure, PublishedStudy
from judge_gym.errors import ConfigError
from judge_gym.formats import ABSENT, number, ranged
from judge_gym.report.table import Row, Table
from judge_gym.store.results import ResultRow, load_results

_REGIME = "regime"


def read_published(
    session: Session, given: PublishedStudy, sweep: str, run_id: int, stand_ins: Mapping[str, str]
) -> Table:
    """Return published figures beside those of an analysis run, and beside what is planted.

    `stand_ins` are those of the sweep's file. Raises `ConfigError` for a figure that several of the
    run match; one that none matches has dashes.
    """
    rows = load_results(session, run_id)
    simulated = bool(rows) and all(row.simulated for row in rows)
    planted = read_planted(session, sweep, load_sweep_data(session, sweep)) if simulated else None
    found = [(one, _matching(one, rows, stand_ins)) for one in given.figures]
    return published_table(given, [(one, row, _planted(planted, row)) for one, row in found])


def _matching(
    one: PublishedFigure, rows: Sequence[ResultRow], stand_ins: Mapping[str, str]
) -> ResultRow | None:
    """Return the figure of the run that is meant; over all draws where it varies."""
    wanted = {
        key: stand_ins.get(value, value) if isinstance(value, str) else value
        for key, value in one.of.items()
    }
    matching = [
        row
        for row in rows
        if row.metric == one.figure
        and "rubric_draw" not in row.scope
        and wanted.items() <= row.scope.items()
    ]
    if len(matching) > 1:
        keys = {key for row in matching for key, value in row.scope.items() if key not in wanted}
        raise ConfigError(
            f"{one.finding}: {len(matching)} figures {one.figure} match.",
            f"Add some of {', '.join(sorted(keys))} to `of`.",
        )
    return matching[0] if matching else None


def _planted(sweep: PlantedSweep | None, row: ResultRow | None) -> float | str | None:
    if sweep is None or row is None:
        return None
    return planted_regime(sweep, row) if row.metric == _REGIME else planted_value(sweep, row)


Line = tuple[PublishedFigure, ResultRow | None, float | str | None]
"""A published figure, that of the run, and what is planted."""


def published_table(given: PublishedStudy, lines: Sequence[Line]) -> Table:
    """Return a line per published figure: published, planted, recovered, and whether they agree."""
    held = [_holds(*line) for line in lines]
    known = [one for one in held if one is not None]
    return Table(
        "Published, planted and recovered",
        "What was published of real models, what is planted in the simulated judges that stand in "
        "for them, and what the analysis found, with its interval over items.",
        ("finding", "judge", "published", "planted", "recovered", "holds planted"),
        tuple(
            Row(
                (
                    one.finding,
                    str(one.of.get("judge", one.of.get("pair", ""))).rpartition("/")[2],
                    _text(one.published),
                    _text(_in_stages(planted, one)),
                    _recovered(one, row),
                    ABSENT if inside is None else "yes" if inside else "no",
                )
            )
            for (one, row, planted), inside in zip(lines, held, strict=True)
        ),
        notes=(
            *(
                f"{one.finding}: not recovered, because {row.because}."
                for one, row, _ in lines
                if row is not None and row.estimate is None and row.because
            ),
            f"{sum(known)} of {len(known)} recovered figures hold what is planted; about 95% of "
            "intervals should.",
            given.source,
        ),
        words=2,
        simulated=any(row.simulated for _, row, _ in lines if row is not None),
    )


def _holds(one: PublishedFigure, row: ResultRow | None, planted: float | str | None) -> bool | None:
    if row is None or planted is None:
        return None
    if isinstance(planted, str):
        told = row.scope[_REGIME]
        return None if told == CANNOT_TELL else bool(told == planted)
    if row.lower is None or row.upper is None:
        return None
    return row.lower - 1e-9 <= planted <= row.upper + 1e-9


def _in_stages(value: float | str | None, one: PublishedFigure) -> float | str | None:
    return value * (one.stages - 1) if isinstance(value, float) else value


def _text(value: float | str | None) -> str:
    return value if isinstance(value, str) else number(value)


def _recovered(one: PublishedFigure, row: ResultRow | None) -> str:
    if row is None:
        return ABSENT
    if row.metric == _REGIME:
        return f"{row.scope[_REGIME]} ({number(row.estimate)})"
    value, lower, upper = (
        None if end is None else end * (one.stages - 1)
        for end in (row.estimate, row.lower, row.upper)
    )
    return ranged(value, lower, upper)
