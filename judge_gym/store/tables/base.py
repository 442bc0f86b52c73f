"""What all tables have in common: conventions, and the columns that most of them need."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Computed,
    DateTime,
    ForeignKey,
    Identity,
    MetaData,
    Numeric,
    Text,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """Common conventions: named constraints, text without length, timestamps with time zone."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 — SQLAlchemy's own protocol
        str: Text,
        datetime: DateTime(timezone=True),
        # An absent value is NULL, never the JSON null that `IS NULL` does not find.
        dict[str, Any]: JSONB(none_as_null=True),
        list[Any]: JSONB(none_as_null=True),
        list[int]: ARRAY(BigInteger),
        Decimal: Numeric(14, 8),
    }


def new_id() -> Mapped[int]:
    return mapped_column(BigInteger, Identity(always=True), primary_key=True)


def reference(column: str, *, on_delete: str = "CASCADE", **options: Any) -> Any:
    return mapped_column(BigInteger, ForeignKey(column, ondelete=on_delete), **options)


def kind_column(failure: str = "failure") -> Mapped[str | None]:
    """Return a column with the kind of a failure: its text up to the colon, or "other"."""
    # As PostgreSQL writes it, so that the schema compares as equal.
    kind = f"COALESCE(SUBSTRING({failure}, '^([a-z_]+): '::text), 'other'::text)"
    told = f"CASE WHEN ({failure} IS NOT NULL) THEN {kind} ELSE NULL::text END"
    return mapped_column(Text, Computed(told, persisted=True))


def created() -> Mapped[datetime]:
    return mapped_column(server_default=func.now())


def simulated_mark() -> Mapped[bool]:
    # Beside the call's own mark, because calls can be cleaned away and what they led to stays.
    return mapped_column(server_default="false")


def one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")
