# Everything a fresh clone needs is python3 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# What pyproject.toml lists under optional-dependencies; with ray, the tests also start a cluster.
EXTRAS ?= test
# Threads fight with the test workers for the cores; a worker that is done takes tests from the other ones.
TESTS := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: install demo test lint docs bench bench-page records-page clean

install: $(READY)

$(READY): pyproject.toml constraints.txt src/netpact/core/version.py
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "netpact needs Python 3.10 or newer: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	touch $(READY)

demo: install
	$(BIN)/netpact demo --data digits --out demo-out

test: install
	$(TESTS)

lint: install
	$(BIN)/ruff check src tests benchmarks records tools examples
	$(BIN)/ruff format --check src tests benchmarks records tools examples
	$(BIN)/mypy

# The documentation as a site, in site/: open site/index.html.
docs: install
	$(BIN)/python -c 'import mkdocs, mkdocstrings' 2>/dev/null || $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: install
	@for script in benchmarks/*.py; do echo "== $$script"; OMP_NUM_THREADS=1 $(BIN)/python $$script || exit 1; done

# Each benchmark leaves its numbers in benchmarks/results; this fills the tables of the pages with them.
bench-page: install
	$(BIN)/python tools/bench_page.py

records-page: install
	$(BIN)/python -c 'from netpact.reports.records import *; from pathlib import Path; Path("docs/records.md").write_text(render_records(read_index("records")))'

clean:
	rm -rf $(VENV) demo-out site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
