# On a fresh machine: make, Python 3.11+, a JDK 17+. All else comes from PyPI, once, into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check
UV := uv==0.13.7

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test check fmt spec lock docs bench bench-large proof soak clean java browser

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: java $(VENV)/runtime.stamp ## Set up if needed, then show what anabranch does
	@$(BIN)/python -m anabranch.demo

test: java browser $(VENV)/dev.stamp ## Set up if needed, then run the fast tests and the Spark tests
	$(BIN)/pytest -q -m "not spark and not slow" -n 3 --dist loadfile
	$(BIN)/pytest -q -m "spark and not slow" -n 2 --dist loadfile

check: $(VENV)/dev.stamp ## Lint, formatting, types, import contracts, stray words
	$(BIN)/ruff check -q
	$(BIN)/ruff format -q --check
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/check_words.py

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
	$(BIN)/python -m bench growth maintenance --scale 10

proof: java $(VENV)/dev.stamp ## Run the slow tests: crashes, contention, many random histories
	$(BIN)/pytest -q -m slow

soak: java $(VENV)/dev.stamp ## Run the slow tests again and again, until one fails or you stop it
	@while $(BIN)/pytest -q -x -m slow; do :; done; exit 1

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
	@$(INSTALL) -c constraints.txt -e .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "installing into $(VENV) from PyPI, with the test tools (once; a few minutes)"
	@$(INSTALL) -c constraints.txt -e '.[dev]'
	@touch $(VENV)/runtime.stamp $@
