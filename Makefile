# Every target sets up what it needs; a second call is instant (stamp files in .venv).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RELEASE ?= fixtures/releases/intact

.PHONY: help verify test check format bench bench-grader bench-stats clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.core

verify: $(VENV)/.core  ## set up and audit the embedded release (another: make verify RELEASE=path)
	$(BIN)/audit verify $(RELEASE)

test: $(VENV)/.dev  ## set up and run every test that needs no compiler
	$(BIN)/python -m pytest

check: $(VENV)/.dev  ## formatting, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports

format: $(VENV)/.dev  ## rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/.peers: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[peers]'
	@touch $@ $(VENV)/.core

bench-grader: $(VENV)/.peers  ## the grader against its peers: speed, memory, accuracy
	$(BIN)/python benchmarks/bench_grader.py

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
