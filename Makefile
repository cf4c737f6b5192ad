# On a fresh machine: make, Python 3.11+, a JDK 17+. All else comes from PyPI, once, into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check
UV := uv==0.13.7
# Lakes of tests live in memory where there is enough of it: thousands of small files, each written to be safe.
MEMORY := $(shell sh tools/memory_folder.sh)
export PYTEST_DEBUG_TEMPROOT := $(MEMORY)
# Where Python is told to store no bytecode, every process that a test starts would compile all of it again.
unexport PYTHONDONTWRITEBYTECODE
QUICK := anabranch tests/unit tests/spec tests/laws tests/regressions tests/smoke

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo quick test check fmt spec lock docs bench bench-large proof cluster soak clean java browser

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: java $(VENV)/runtime.stamp ## Set up if needed, then show what anabranch does
	@$(BIN)/python -m anabranch.cli.demo_script

quick: java $(VENV)/dev.stamp ## Run what answers within a minute: units, specs, laws, one smoke test on Spark
	$(BIN)/pytest -q -m "not slow and not endless and not postgres and (smoke or not spark)" -n 2 --dist worksteal $(QUICK)

test: java browser $(VENV)/dev.stamp ## Set up if needed, then run all tests that a change needs (ten minutes)
	$(BIN)/python -m tools.run_tests

check: $(VENV)/dev.stamp ## Lint, formatting, types, import contracts, stray words
	$(BIN)/ruff check -q
	$(BIN)/ruff format -q --check
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/check_machine_paths.py

fmt: $(VENV)/dev.stamp ## Fix what can be fixed, and format
	$(BIN)/ruff check -q --fix
	$(BIN)/ruff format -q

spec: $(VENV)/dev.stamp ## Rewrite the spec files from what the code does now
	$(BIN)/python -m tests.spec

lock: $(VENV)/dev.stamp ## Re-make constraints.txt with the newest versions that pyproject.toml allows
	$(INSTALL) $(UV)
	$(BIN)/uv pip compile -q pyproject.toml --extra dev --universal --python-version 3.11 \
		--upgrade --fork-strategy fewest --no-header -o constraints.txt

docs: $(VENV)/dev.stamp ## Make the documentation, in build/site; broken links are errors
	$(BIN)/python -m tools.pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: java $(VENV)/dev.stamp ## Measure against bare Spark and bare pyiceberg
	$(BIN)/python -m bench

bench-large: java $(VENV)/dev.stamp ## Measure what takes hours: every table, many ticks, recursions, scale factor 10
	$(BIN)/python -m bench every fill wide closure pipelines memory
	$(BIN)/python -m bench growth maintenance cluster --scale 10

proof: java browser $(VENV)/dev.stamp ## Run what make test leaves out, and the Spark tests as users have Spark (an hour and a half)
	$(BIN)/pytest -q -m "(slow or rotating) and not spark and not endless" -n 2 --dist worksteal
	ANABRANCH_TEST_SPARK=production $(BIN)/pytest -q -m "spark and not endless" -n 2 --dist worksteal
	$(BIN)/pytest -q -m cluster -n 0 tests/cluster

cluster: java $(VENV)/dev.stamp ## Run the wheel on a Spark cluster of two workers that are killed (make proof does it too)
	$(BIN)/pytest -q -m cluster -n 0 tests/cluster

soak: java $(VENV)/dev.stamp ## Run random cases by the thousand and the slow tests, again and again, until one fails
	@while $(BIN)/pytest -q -x -m "slow or endless"; do :; done; exit 1

clean: ## Remove caches and builds; .venv stays
	rm -rf build dist .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

java:
	@sh tools/check_java.sh

browser:
	@sh tools/install_chromium.sh

# The target is pip, not the directory: a venv whose making broke off has none, and is made again.
$(BIN)/pip:
	@sh tools/check_python.sh $(PYTHON)
	@$(PYTHON) -m venv $(VENV)

$(VENV)/runtime.stamp: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "installing into $(VENV) from PyPI (once; a few minutes)"
	@$(INSTALL) -c constraints.txt -e '.[cli]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt tests/tpcds/generator.txt | $(BIN)/pip
	@echo "installing into $(VENV) from PyPI, with the test tools (once; a few minutes)"
	@$(INSTALL) -c constraints.txt -e '.[dev]'
	@$(INSTALL) --upgrade --target $(VENV)/tpcds -r tests/tpcds/generator.txt
	@touch $(VENV)/runtime.stamp $@
