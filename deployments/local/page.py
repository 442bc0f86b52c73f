"""Prefect's server as `judge-gym up` runs it: with the reports beside its page, and schedules."""

from fastapi import FastAPI
from prefect.server.api.server import create_app
from prefect.server.database.orm_models import FlowRun
from sqlalchemy.ext.hybrid import hybrid_property
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from deployments.local.prefect_server import REPORTS
from judge_gym.settings import settings


def with_reports() -> FastAPI:
    """Return Prefect's application; the folder of reports is under `REPORTS`."""
    pass_over_states()
    app = create_app()
    folder = settings().data_dir / "reports"
    # First, since Prefect's page answers for every path that is left.
    app.router.routes.insert(0, Mount(REPORTS, StaticFiles(directory=folder, check_dir=False)))
    return app


def pass_over_states() -> None:
    """Let Prefect's scheduler insert flow runs under SQLAlchemy 2.1.

    Its rows hold their state, too, which is no column and is inserted after them. SQLAlchemy 2.0
    passes that over, 2.1 refuses it unless told what to do with it: no schedule made a run.
    """
    state = FlowRun.__mapper__.all_orm_descriptors["state"]
    assert isinstance(state, hybrid_property)
    state.inplace.bulk_dml(lambda *_: None)
