# The two commands to know: `make demo` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

# To use another Python: `make PYTHON=/path/to/python3.12`. A name that exists but does not start
# (a shim, a stub of the operating system) is skipped, and so is one that cannot make a venv.
PYTHON ?=
CANDIDATES := $(or $(PYTHON),python3.13 python3.12 python3.11 python3.14 python3 python)
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))

# The pure packages: same arguments, same result. Every line and branch of them is tested.
PURE := base decision checks ledger gates packs soak seal
PURE_COVERED := 100
ALL_COVERED := 90

.PHONY: help demo test browser setup check lint types layers fmt golden docs bench bench-judge \
        fit-judge fuzz mutants mutants-judge interop dist dist-check lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## Show every part of the product on sample documents
	@$(BIN)/python -m tools.demo

test: check browser ## Run everything: style, types, layers, tests, coverage
	@rm -f .coverage .coverage.*
	@$(BIN)/coverage run -m pytest -n 2
	@$(BIN)/coverage combine --quiet
	@$(call covered,$(ALL_COVERED),all of the product,*)
	@$(call covered,$(PURE_COVERED),the pure packages,$(subst $(empty) ,$(comma),$(PURE:%=*/affidavit/%/*)))

# The tests that open a page need a browser. Without one they are skipped, with a reason.
browser: ## Install Chromium with apt if there is no browser and you are root
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "The tests that open a page need a browser, and there is none."; \
	    echo "Installing the package chromium with apt-get ..."; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	      --no-install-recommends chromium; } >/dev/null; \
	  else echo "There is no browser: the tests that open a page will be skipped."; fi; }

empty :=
comma := ,
# covered(percent, what, files): print one line, or show what is missing and fail.
define covered
report=$$($(BIN)/coverage report --include='$(3)' --fail-under=$(1)) \
  || { echo "$$report"; echo "Coverage of $(2) is below $(1)%"; exit 1; }; \
  echo "Covered: $$(awk '/^TOTAL/ {print $$NF}' <<<"$$report") of $(2) ($(1)% needed)"
endef

setup: $(READY) ## Create .venv from the lock files
	@echo "Ready. To use it in this shell: . $(BIN)/activate"

# The stamp is written last, so that an interrupted install is repeated.
$(READY): requirements/dev.txt pyproject.toml
	@test -x $(BIN)/python || { \
	  for python in $(CANDIDATES); do \
	    if "$$python" -c '$(USABLE)' 2>/dev/null; then found=$$python; break; fi; \
	  done; \
	  if [ -z "$${found:-}" ]; then \
	    echo "Python 3.11 or newer with its venv module is needed; none of these works: $(CANDIDATES)"; \
	    echo "Next: install one (Debian: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3.11"; \
	    exit 2; \
	  fi; \
	  echo "Making $(VENV) with $$("$$found" --version) ..."; \
	  "$$found" -m venv $(VENV); }
	@echo "Installing the locked packages into $(VENV) (a minute or two the first time) ..."
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

check: lint types layers ## Style, types and layers, without running the tests

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY)
	@$(BIN)/mypy

layers: $(READY)
	@$(BIN)/lint-imports --no-logo

fmt: $(READY) ## Format the code and apply automatic fixes
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

golden: $(READY) ## Rewrite the golden files; read the diff before you commit it
	@$(BIN)/python -m pytest -q --update-golden
	@git --no-pager diff --stat -- tests

docs: $(READY) ## Regenerate the pages that come from the code
	@$(BIN)/python -m tools.generate_docs

bench: $(READY) ## Run the benchmarks and append to benchmarks/results.jsonl
	@$(BIN)/python -m benchmarks.run

bench-judge: $(READY) ## Measure the judge on labelled sets (AFFIDAVIT_JUDGE_DATA names their folder)
	@$(BIN)/python -m tools.judge_bench --frozen
	@$(BIN)/python -m tools.judge_bench

fit-judge: $(READY) ## Fit the judge's combiner to the labelled sets and update its card
	@$(BIN)/python -m tools.judge_bench --fit --write
	@$(MAKE) --no-print-directory docs

# Atheris instruments the code that it fuzzes, so it has its own environment.
FUZZ := .interop/fuzz
FUZZ_SECONDS ?= 60
fuzz: $(FUZZ)/.ready ## Fuzz the JSON decoder for a minute (FUZZ_SECONDS=600 for ten)
	@PYTHONPATH=src $(FUZZ)/bin/python -m tools.fuzz_strict_json -max_total_time=$(FUZZ_SECONDS)

$(FUZZ)/.ready: $(READY) requirements/core.txt requirements/fuzz.txt
	@$(BIN)/python -m venv $(FUZZ)
	@$(FUZZ)/bin/python -m pip --disable-pip-version-check --quiet --quiet install \
	  --require-hashes -r requirements/core.txt -r requirements/fuzz.txt
	@touch $@

# The share of mutants that a test must notice. PACKAGES="gates seal" MUTANTS=20 SEED=7 narrow it.
MUTANTS ?= 100
SEED ?= 1
PACKAGES ?= base decision checks ledger gates packs soak seal
PURE_NOTICED := 92
JUDGE_NOTICED := 85
mutants: $(READY) ## Change the code in small ways and count what the tests notice (an hour)
	@$(BIN)/python -m tools.mutants --count $(MUTANTS) --seed $(SEED) --floor $(PURE_NOTICED) $(PACKAGES)

mutants-judge: $(READY) ## The same for the rules of the judge
	@$(BIN)/python -m tools.mutants --count $(MUTANTS) --seed $(SEED) --floor $(JUDGE_NOTICED) judge/lexical

# Heavy outside tools (a JVM, packages of other tools): each script has its own environment.
interop: $(READY) ## Run the tests that need heavy outside tools, each in its own environment
	@count=0; for script in interop/*.sh; do \
	  [ -x "$$script" ] || continue; \
	  echo "== $$script"; "./$$script"; count=$$((count + 1)); \
	done; \
	echo "$$count interop scripts passed"

dist: $(READY) ## Build the wheels and the sdist into dist/
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist .
	@$(BIN)/python -m build --no-isolation --wheel --outdir dist encoder

dist-check: dist ## Install the wheel into an empty environment, use it, check its size
	@$(BIN)/python -m tools.check_wheel

lock: $(READY) ## Pin the newest allowed versions
	@$(BIN)/python -m tools.lock

clean: ## Remove .venv and everything that was built
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache \
	  .hypothesis .interop .coverage .coverage.* demo-output
