# Two commands for a newcomer: `make demo` and `make test`. Everything lives in .venv and in a
# per-user cache; nothing needs to be installed by hand.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check test-all-versions soak proto bench clean

demo: $(VENV)/.demo
	$(BIN)/antigravity-sync install-harness
	$(BIN)/python examples/quickstart.py

test: check
	$(BIN)/python -m pytest -q -n auto --dist loadfile -m 'not soak'

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The real-harness suite on every release from 0.1.5 on: minutes, and not part of CI.
test-all-versions: $(STAMP)
	$(BIN)/python tests/all_versions.py

soak: $(STAMP)
	$(BIN)/python -m pytest -q -m soak -o faulthandler_timeout=0

proto: $(STAMP)
	$(BIN)/python proto/regenerate.py

bench: $(STAMP)
	$(BIN)/python benchmarks/imports.py
	$(BIN)/python benchmarks/streaming.py
	$(BIN)/python benchmarks/turns.py
	$(BIN)/python benchmarks/full_starts.py
	$(BIN)/python benchmarks/tools.py
	$(BIN)/python benchmarks/wire.py
	$(BIN)/python benchmarks/pool.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python setup.cfg
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	touch $@

$(STAMP): $(VENV)/bin/python setup.cfg
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
