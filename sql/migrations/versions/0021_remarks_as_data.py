"""remarks on figures as data

What a reader of a figure must know stood in `method` as words, and reports read it back out of
them. Now `remarks` holds it as data, and `because` the reason without the words before it. The rows
of earlier analyses are converted once, here; what no pattern knows stays in `method`.

Revision ID: 0021
Revises: 0020
"""

import json
import re

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

VIEWS = "00d13876bae4d2b0"

_REMARKS = (
    (r"(?P<number>[0-9]+) items where (?P<advised>[0-9]+) are advised", "few items"),
    (
        r"(?P<number>[0-9.]+) degrees of freedom where (?P<advised>[0-9.]+) are advised",
        "few degrees of freedom",
    ),
    (r"fewer than (?P<advised>[0-9]+) replicates, so read against the floor", "near the floor"),
    (
        r"P - P0 mostly understates divergence at fewer than (?P<advised>[0-9]+) replicates .*",
        "too low",
    ),
    (r"E overstates at fewer than (?P<advised>[0-9]+) replicates .*", "too high"),
    (r"P0 and p assume that replicates of a cell are independent .*", "independent replicates"),
    (r"(?P<number>[0-9]+) samples without (?P<names>\S+) are left out", "samples left out"),
    (r"(?P<number>[0-9]+) without spread left out", "pairs left out"),
    (r"without a verdict and left out: (?P<names>.+)", "judges left out"),
    (r"(?P<axis>temperature|top_p) not applied by (?P<names>.+)", "not applied"),
    (r"compared with (?P<names>.+)", "reference levels"),
)
_PREFIX = "^(not estimable|no interval)(, because |$)"


def upgrade() -> None:
    _rename("reason", "because")
    empty = sa.text("'[]'")
    op.add_column(
        "analysis_results",
        sa.Column("remarks", postgresql.JSONB(), server_default=empty, nullable=False),
    )
    connection = op.get_bind()
    strip = "UPDATE {} SET {} = regexp_replace({}, :prefix, '') WHERE {}"
    for table, column, where in (
        ("analysis_results", "because", "because <> ''"),
        ("analysis_findings", "reason", "conclusion = 'not testable here'"),
    ):
        connection.execute(sa.text(strip.format(table, column, column, where)), {"prefix": _PREFIX})
    methods = connection.scalars(sa.text("SELECT DISTINCT method FROM analysis_results")).all()
    for method in methods:
        kept, remarks = _split(method)
        if remarks:
            connection.execute(
                sa.text(
                    "UPDATE analysis_results SET method = :kept, "
                    "remarks = CAST(:remarks AS jsonb) WHERE method = :method"
                ),
                {"kept": kept, "remarks": json.dumps(remarks), "method": method},
            )
    _convert_reviews(connection)


def _split(method: str) -> tuple[str, list[dict[str, object]]]:
    """Return the method without its remarks, and these."""
    kept, remarks = [], []
    for part in method.split("; "):
        for pattern, kind in _REMARKS:
            if match := re.fullmatch(pattern, part):
                remarks.append(_remark(kind, match.groupdict()))
                break
        else:
            kept.append(part)
    return "; ".join(kept), remarks


def _remark(kind: str, groups: dict[str, str]) -> dict[str, object]:
    numbers = {
        name: float(groups[name]) if name in groups else None for name in ("number", "advised")
    }
    names = [groups["axis"]] if "axis" in groups else []
    names += groups["names"].split(", ") if "names" in groups else []
    return {"kind": kind, **numbers, "names": names}


def _convert_reviews(connection: sa.Connection) -> None:
    """Give the figures of stored reviews the same two fields."""
    rows = connection.execute(sa.text("SELECT id, figures FROM judge_reviews")).all()
    for row in rows:
        figures = dict(row.figures)
        for figure in figures.get("figures", []):
            figure["because"] = re.sub(_PREFIX, "", figure.pop("reason", ""))
            figure["method"], figure["remarks"] = _split(figure["method"])
        connection.execute(
            sa.text("UPDATE judge_reviews SET figures = CAST(:figures AS jsonb) WHERE id = :id"),
            {"figures": json.dumps(figures), "id": row.id},
        )


def downgrade() -> None:
    """Give reasons their first words again; the remarks on figures are lost."""
    op.execute(
        "UPDATE analysis_results SET because = CASE WHEN estimate IS NULL THEN 'not estimable' "
        "ELSE 'no interval' END || ', because ' || because WHERE because <> ''"
    )
    op.drop_column("analysis_results", "remarks")
    _rename("because", "reason")


def _rename(old: str, new: str) -> None:
    """Rename a column by a new one: constraints of a renamed column would keep its old name."""
    table = "analysis_results"
    op.add_column(table, sa.Column(new, sa.Text(), server_default="", nullable=False))
    op.execute(sa.update(sa.table(table, sa.column(new))).values({new: sa.column(old)}))
    op.alter_column(table, new, server_default=None)
    op.drop_column(table, old)
    op.create_check_constraint(
        op.f(f"ck_{table}_reason_when_not_estimable"), table, f"estimate IS NOT NULL OR {new} <> ''"
    )
