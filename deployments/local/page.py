"""Prefect's server as judge-gym starts it: for loopback only, with the reports beside its page."""

from fastapi import FastAPI
from prefect.server.api.server import create_app
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from deployments.local.prefect_server import HOSTS, REPORTS
from judge_gym.settings import settings


def plain() -> FastAPI:
    """Return Prefect's application, which answers to names of this machine only."""
    app = create_app()
    # A web page may have its own name lead here, and would then count as Prefect's page.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS), www_redirect=False)
    return app


def with_reports() -> FastAPI:
    """Return the same application; the folder of reports is under `REPORTS`, so runs link there."""
    app = plain()
    folder = settings().reports_dir
    # First, since Prefect's page answers for every path that is left.
    app.router.routes.insert(0, Mount(REPORTS, StaticFiles(directory=folder, check_dir=False)))
    return app
