# The two commands to know: `make demo` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test check lint types layers fmt golden bench docs fuzz dist lock interop clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Make the environment in .venv from the lock files

# The stamp is written last, so that an interrupted install is repeated, never half used.
$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing what is locked into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY) ## Go the way of the data on our own sample documents
	@$(BIN)/python -m tools.demo

test: check ## Pass everything: style, types, layers, tests, coverage, documents
	@rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest -n 2
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --fail-under=90
	@$(BIN)/coverage report --include='$(PURE)' --fail-under=100

# The pure packages: same arguments, same answer, and no line of them untested.
PURE := src/affidavit/base/*,src/affidavit/checks/*,src/affidavit/ledger/*,src/affidavit/gates/*,src/affidavit/packs/*,src/affidavit/soak/*,src/affidavit/seal/*

check: lint types layers ## Style, types and layers, without running the tests

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY)
	@$(BIN)/mypy

layers: $(READY)
	@$(BIN)/lint-imports

fmt: $(READY) ## Format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

golden: $(READY) ## Rewrite the golden files; read the diff before you commit it
	$(BIN)/python -m pytest -q --update-golden

docs: $(READY) ## Regenerate the pages that are made from the code
	@$(BIN)/python -m tools.generate_docs

bench: $(READY) ## Measure the targets, print ratios, append to benchmarks/results.jsonl
	$(BIN)/python -m benchmarks.run

dist: $(READY) ## Build the wheel and the sdist into dist/
	@rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

lock: $(READY) ## Pin the newest allowed versions again
	@$(BIN)/python -m tools.lock

clean: ## Remove the environment and everything that was built
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.* demo-output
