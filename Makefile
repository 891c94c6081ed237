# Both `make demo` and `make test` set everything up themselves, on any machine with Python 3.11+.

PYTHON ?= $(firstword $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $$p; done))
BIN := .venv/bin
# Modules are compiled when they are imported: many of those that are installed never are.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# Tests start hundreds of interpreters; compiling all modules in each costs more than many tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo check test lint format typecheck quick unit debian kernels bytecode bench bench-platform reproduce leakage equity figures lock release docs clean fuzz mutants hosts-test studies-test postgres-test balancer-test failover-test upgrade-test deploy-test attacks faults first-run pictures equity-test many-runs models

help: ## Show what there is
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: .venv/ready-service ## Three nodes, a platform, three airlines: one run to its plan
	@$(BIN)/tacit demo

check: .venv/ready-dev ## What a change needs while it is made: lint, types, quick tests
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint typecheck quick

# Types are checked while kernels are compiled, and Debian installs; tests do not wait for types.
test: .venv/ready-dev ## Everything that must pass before a change lands
	@$(MAKE) --no-print-directory --jobs 3 lint typecheck unit

lint: .venv/ready-dev ## Lint and format check
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .

format: .venv/ready-dev ## Format the code
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

typecheck: .venv/ready-dev
	@nice $(BIN)/mypy

quick: .venv/ready-dev ## Tests and doctests without processes, browser and long searches
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not processes and not browser and not slow"

# Three at a time on two cores: many tests wait for processes, clocks and sockets.
unit: .venv/ready-dev debian kernels bytecode ## Tests, doctests and examples
	@$(BIN)/python -m pytest -q -n 3 --dist worksteal

# Compiled once and kept beside the sources: otherwise all nodes of a cluster compile the same at once.
kernels: .venv/ready-dev
	@$(BIN)/python -c 'from tacit.service.execution.preloaded import warm_up_all; warm_up_all()'

# Likewise the modules and the tests, which every test process imports. What is wrong with one, tests will say.
bytecode: .venv/ready-dev
	@$(BIN)/python -m pytest -q -n 0 --collect-only >/dev/null 2>&1 || true

first-run: .venv/ready-dev kernels ## Nodes, platform and participants by the commands of the documents alone (2 minutes)
	@TACIT_FIRST_RUN=1 $(BIN)/python -m pytest -q -n 0 tests/test_first_run.py tests/test_deploy_document.py \
		tests/test_replace_document.py

fuzz: .venv/ready-dev ## Hostile frames, agreements, boxes, requests and files by the million (an hour); FUZZ="agreements --seed 3"
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(FUZZ)

# What tests need of Debian: a browser for the dashboard, since Playwright brings none of its own
# here, and a database server. Debian's own cluster of it is not started, nor used.
debian:
	@missing=; \
	command -v chromium >/dev/null || missing="$$missing chromium"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$$missing postgresql"; \
	test -z "$$missing" || { \
		echo "installing Debian's$$missing" >&2; \
		SUDO=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq $$missing >/dev/null; }

bench: .venv/ready-studies ## Speed against pymoo and MPyC, as ratios in one run
	@$(BIN)/python -m studies.benchmarks.search
	@$(BIN)/tacit bench engine --against mpyc

bench-platform: .venv/ready-dev ## Twenty runs of fifty participants at once, then hostile requests (4 minutes)
	@$(BIN)/python -m studies.benchmarks.platform
	@$(BIN)/python -m studies.benchmarks.hostile_requests

figures: .venv/ready-studies ## Measure again what README and docs say of speed and quality (an idle machine, two hours)
	@$(BIN)/tacit bench engine --against mpyc --json > docs/figures/engine.json
	@$(BIN)/tacit bench engine --population 500 --latency 10ms --json > docs/figures/engine-delay.json
	@$(BIN)/tacit bench engine --nodes 4 --against three --measurements 5 --json > docs/figures/engine-four.json
	@$(BIN)/python -m studies.benchmarks.load_attacks --json docs/figures/load_attacks.json
	@$(BIN)/python -m studies.benchmarks.search --json docs/figures/search.json
	@$(BIN)/python -m studies.benchmarks.sealed --runs 3 --json docs/figures/sealed.json
	@$(BIN)/python -m studies.benchmarks.families_on_nodes --json docs/figures/families-on-nodes.json
	@$(BIN)/python -m studies.benchmarks.exact_nodes --seeds 5 --json docs/figures/exact-nodes.json
	@$(BIN)/python -m studies.benchmarks.exact_nodes --seeds 3 --rows 100 --latency 10 --json docs/figures/exact-nodes-delay.json
	@$(BIN)/python -m studies.benchmarks.usual_families --json docs/figures/usual-families.json
	@$(BIN)/python -m studies.benchmarks.distances --json docs/figures/distances.json
	@$(BIN)/python -m studies.benchmarks.weightings --json docs/figures/weightings.json
	@$(BIN)/python -m studies.benchmarks.large_families --json docs/figures/large-families.json
	@$(BIN)/python -m studies.benchmarks.known_start --json docs/figures/known-start.json
	@$(BIN)/python -m studies.benchmarks.varied_runs --json docs/figures/varied-runs.json
	@$(BIN)/python -m studies.benchmarks.tours --json docs/figures/tours.json
	@$(BIN)/python -m studies.benchmarks.unseen_tours --json docs/figures/unseen-tours.json
	@$(BIN)/python -m studies.benchmarks.equal_time --json docs/figures/equal-time.json
	@$(BIN)/python -m studies.benchmarks.document_figures --write

# Whole deployments, which take minutes, and some of them root: not part of `make test`.
DEPLOYMENT := $(BIN)/python -m pytest -q -n 0 -rs -m deployment

hosts-test: .venv/ready-dev ## Nodes, platform and participants on hosts of their own, with delays and faults (root, 8 minutes)
	@$(DEPLOYMENT) tests/deployment/test_hosts.py

postgres-test: .venv/ready-dev debian ## A database that restarts in mid-run (3 minutes)
	@$(DEPLOYMENT) tests/deployment/test_postgres.py

studies-test: .venv/ready-dev kernels ## Studies from end to end: reports, processes that share work, commands (1 minute)
	@$(BIN)/python -m pytest -q -n 2 -m study

balancer-test: .venv/ready-dev debian ## The samples for nginx and Caddy in front of two processes (nginx, caddy; 1 minute)
	@$(DEPLOYMENT) tests/deployment/test_balancer.py

failover-test: .venv/ready-dev debian ## Two APIs and three workers, killed and suspended with runs under way (10 minutes)
	@$(DEPLOYMENT) tests/deployment/test_failover.py

upgrade-test: .venv/ready-dev ## The first release with a run under way, upgraded to this one (5 minutes)
	@$(DEPLOYMENT) tests/deployment/test_upgrade.py

deploy-test: .venv/ready-dev ## The images of deploy/Containerfile, built and run (root, Podman, debootstrap; 10 minutes)
	@$(DEPLOYMENT) tests/deployment/test_containers.py tests/deployment/test_parts.py tests/deployment/test_monitoring.py

attacks: .venv/ready-dev kernels ## Everything that one node of four can do to a run, on real nodes (a minute)
	@TACIT_ATTACKS=1 $(BIN)/python -m pytest -q -n 0 tests/on_nodes/test_attacks.py tests/on_nodes/test_ballots.py tests/on_nodes/test_told_inputs.py

FAULTS ?= 60
SEED ?= 1
faults: .venv/ready-dev kernels debian ## Random faults over real processes, and what must hold after each (root, 30 minutes); FAULTS=1 SEED=17
	@ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1 || { \
		echo "installing Debian's faketime" >&2; apt-get update -qq && apt-get install -y -qq faketime >/dev/null; }
	@$(BIN)/python -m tests.faults --faults $(FAULTS) --seed $(SEED) --json out/faults.json

pictures: .venv/ready-dev debian ## The dashboard in docs/pictures, taken anew in a browser (2 minutes)
	@$(BIN)/python -m tests.service.dashboard.pictures

many-runs: .venv/ready-dev ## 500 short runs, one after the other, on nodes that keep 50 places (5 minutes)
	@TACIT_MANY_RUNS=500 $(BIN)/python -m pytest -q -n 0 --durations 1 tests/on_nodes/test_many_runs.py

mutants: .venv/ready-dev ## Break the sources in small ways: some test must notice each (25 minutes)
	@$(BIN)/python -m tests.mutants --write

models: .venv/ready-dev ## Check what nodes agree on in its full state space, with Debian's spin (10 minutes)
	@missing=; \
	command -v spin >/dev/null || missing="$$missing spin"; \
	command -v gcc >/dev/null || missing="$$missing gcc"; \
	test -z "$$missing" || { \
		echo "installing Debian's$$missing" >&2; \
		SUDO=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq $$missing >/dev/null; }
	@nice $(BIN)/python -m tests.models

reproduce: .venv/ready-studies ## The paper's whole evaluation, our figures beside its own (30 minutes)
	@$(BIN)/tacit experiment reproduce --out out/reproduce --latex
	@mkdir -p docs/ablation
	@cp out/reproduce/ablation/tables.md out/reproduce/ablation/gaps.png docs/ablation/
	@cp out/reproduce/ablation/ablation.json studies/data/
	@cp out/reproduce/summary.json studies/data/reproduced.json

leakage: .venv/ready-studies ## Every figure of docs/leakage.md and the table that participants are shown (15 minutes)
	@$(BIN)/tacit experiment leakage --out out
	@mkdir -p docs/leakage
	@cp out/leakage/privacy.png out/leakage/growth.png out/leakage/tables.md docs/leakage/
	@cp out/leakage/leakage.json src/tacit/audit/data/

equity: .venv/ready-studies ## Every figure of docs/equity.md (5 minutes)
	@$(BIN)/tacit experiment equity --out out
	@mkdir -p docs/equity
	@cp out/equity/spread.png out/equity/tables.md docs/equity/
	@cp out/equity/equity.json studies/data/

docs: .venv/ready-docs ## One searchable site of documents, examples and API: build/site/html, all links checked
	@$(BIN)/python -m release.site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build --strict -f build/site/mkdocs.yml
	@echo "to read and search it: $(BIN)/python -m http.server -d build/site/html"

equity-test: .venv/ready-dev ## Thirty runs with equity on real nodes, with kills (5 minutes)
	@$(BIN)/python -m tests.thirty_runs_of_equity

lock: build/release-env/made ## Write deploy/lock anew: versions with hashes (UPGRADE=1: the newest)
	@PATH="$(CURDIR)/build/release-env/bin:$$PATH" python -m release.locks $(if $(UPGRADE),--upgrade)

release: build/release-env/made ## Wheel and sdist built twice, hashes, bills of materials, each extra tried, audit: dist/
	@build/release-env/bin/python -m release

clean: ## Remove what make made
	rm -rf .venv out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/made:
	@test -n "$(PYTHON)" || { echo "tacit needs Python 3.11 or newer; install it and try again" >&2; exit 1; }
	@$(PYTHON) -m venv .venv 2>/dev/null || { \
		echo "installing Debian's python3-venv" >&2; \
		SUDO=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq python3-venv >/dev/null \
		&& $(PYTHON) -m venv --clear .venv; }
	@# That of Python 3.11 takes twice as long to find what fits together.
	@$(PIP) --upgrade pip 2>&1 | grep -v '^WARNING: Location' >&2 || true
	@touch $@

# Of its own, and from a lock itself: what makes a release is known as exactly as what is in it.
build/release-env/made: deploy/lock/release.txt
	@test -n "$(PYTHON)" || { echo "tacit needs Python 3.11 or newer; install it and try again" >&2; exit 1; }
	@$(PYTHON) -m venv --clear build/release-env
	@build/release-env/bin/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes -r deploy/lock/release.txt
	@touch $@

.venv/ready-%: pyproject.toml .venv/made
	@echo "setting up .venv ($*)"
	@$(PIP) -e '.[$*]' 2>&1 | grep -v '^WARNING: Location' >&2 || true
	@$(BIN)/python -c 'import tacit'
	@touch $@
