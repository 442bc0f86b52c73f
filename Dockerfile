# judge-gym for workers and commands. Build it at a commit, and use the commit as its tag:
#   docker build --build-arg COMMIT="$(git rev-parse HEAD)" --tag judge-gym:"$(git rev-parse HEAD)" .
# Versions and hashes of all packages come from the lock files.

FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY requirements-uv.lock ./
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements-uv.lock
COPY requirements.lock pyproject.toml README.md LICENSE prefect.yaml ./
RUN uv venv /opt/judge-gym \
    && uv pip install --no-cache --compile-bytecode --python /opt/judge-gym/bin/python \
        --require-hashes --constraint requirements.lock \
        --requirement pyproject.toml --extra serve --extra docker
COPY sql sql
COPY notebooks notebooks
COPY judge_gym judge_gym
COPY tasks tasks
COPY flows flows
COPY deployments deployments
RUN uv pip install --no-cache --compile-bytecode --python /opt/judge-gym/bin/python \
        --no-deps --build-constraint requirements.lock .

FROM python:3.13-slim-bookworm
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="judge-gym" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${COMMIT}"
# /srv/judge-gym is the folder of flow runs: sweep files in it, reports below .judge-gym.
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin judge-gym \
    && install --directory --owner judge-gym --group judge-gym /srv/judge-gym
COPY --from=build /opt/judge-gym /opt/judge-gym
ENV PATH=/opt/judge-gym/bin:$PATH \
    JUDGE_GYM_HOME=/srv/judge-gym \
    OPENBLAS_NUM_THREADS=1 \
    PYTHONUNBUFFERED=1
USER 10001
WORKDIR /srv/judge-gym
CMD ["judge-gym", "--help"]
