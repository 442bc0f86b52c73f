"""Running a panel before a provider that answers as a test says, and reading what it left."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from judge_gym.llm.providers import Providers
from judge_gym.panel import Panel, PanelState, ReviewedDocument
from judge_gym.panel.running import run_panel
from support.misbehaving import Provider, Step, answers, misbehaving
from support.panels import a_document, a_panel
from support.rig import calls, run, runtime_at

BAD = answers("I would say it is rather good.")
WAITING, RUNNING, DONE, ERROR = "waiting", "running", "done", "error"


@dataclass
class Watched:
    """A run: every state it emitted, and what it sent."""

    states: list[PanelState] = field(default_factory=list)
    provider: Provider = field(default_factory=lambda: Provider(""))

    @property
    def last(self) -> PanelState:
        return self.states[-1]

    @property
    def asked(self) -> list[str]:
        """The models that were asked, in order."""
        return [request["model"] for request in self.provider.requests]


def watched(
    database: str,
    step: Step,
    *,
    panel: Panel | None = None,
    document: ReviewedDocument | None = None,
    takes_schema: bool = False,
    **settings: Any,
) -> Watched:
    """Run a panel once before a provider that answers by a step."""

    async def work() -> Watched:
        found = Watched()
        async with (
            misbehaving(step) as provider,
            runtime_at(database, provider.base_url, **settings) as runtime,
        ):
            found.provider = provider
            if takes_schema:
                runtime = replace(runtime, providers=taking_schemas(runtime.providers))
            given = (panel or a_panel(), document or a_document())
            state = await run_panel(runtime, *given, emit=found.states.append)
            assert state == found.last
            return found

    return run(work())


def taking_schemas(providers: Providers) -> Providers:
    return Providers(
        {
            name: one.model_copy(update={"json_schema": True})
            for name, one in providers.by_name.items()
        },
        providers.file,
    )


def rows(database: str, table: Any) -> Sequence[Any]:
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return connection.execute(sa.select(table.__table__).order_by(table.id)).all()


def ledger(database: str) -> list[Any]:
    """The calls, the oldest first."""
    found = calls(sa.create_engine(database, poolclass=sa.NullPool))
    return sorted(found.values(), key=lambda row: row.id)
