"""Prefect's server with the reports beside its page, so that a run can link to its report."""

from fastapi import FastAPI
from prefect.server.api.server import create_app
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from deployments.local.prefect_server import REPORTS
from judge_gym.settings import settings


def with_reports() -> FastAPI:
    """Return Prefect's application; the folder of reports is under `REPORTS`."""
    app = create_app()
    folder = settings().data_dir / "reports"
    # First, since Prefect's page answers for every path that is left.
    app.router.routes.insert(0, Mount(REPORTS, StaticFiles(directory=folder, check_dir=False)))
    return app
