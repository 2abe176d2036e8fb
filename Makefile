# Two commands for a newcomer: `make demo` and `make test`. Each sets up what it needs in .venv and nothing else.
# Between edits: `make check`, under two minutes on two idle cores.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python only: ruff would format the code in Markdown too, which tests run as it stands.
CODE := src tests benchmarks $(wildcard docs/*.py) docs/figures docs/tutorials
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check docs hunt lint format bench picture clean

demo: $(VENV)/core
	$(BIN)/anyformer build softmax --tokens 64 --epsilon 1e-4 --p inf --output build/demo/softmax --overwrite
	$(BIN)/anyformer verify build/demo/softmax
	$(BIN)/anyformer describe build/demo/softmax
	$(BIN)/anyformer build mean-scale --tokens 3 --epsilon 0.05 --method averaging --output build/demo/mean-scale --overwrite
	$(BIN)/anyformer verify build/demo/mean-scale
	$(BIN)/anyformer trace build/demo/mean-scale --input "0.15, 0.8, 0.4"

# Each worker has half of the tests, in their order, and takes from the other what is left: both end together.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

test: $(VENV)/dev lint
	$(PYTEST)

# All but the tests marked slow.
check: $(VENV)/dev lint
	$(PYTEST) -m "not slow"

# An hour of networks, claims and functions made to fool the checker. Counts go to build/hunt.json.
hunt: $(VENV)/dev
	mkdir -p build
	$(BIN)/python -m tests.hunt --minutes 60 --out build/hunt.json

lint: $(VENV)/dev
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy

format: $(VENV)/dev
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

# The site: open build/docs/index.html. Every warning is an error. The reference needs all packages: it imports them.
docs: $(VENV)/dev
	$(BIN)/python -m sphinx -E -W --keep-going -n -q docs build/docs

# About an hour on two cores, in an environment of its own: the peers are large. Results go to benchmarks/RESULTS.md.
bench: .venv-bench/ready
	.venv-bench/bin/python -m benchmarks all

# The picture that opens the README, and those of docs/report.md, drawn again from models that are built and proved.
picture: $(VENV)/dev
	$(BIN)/python -m benchmarks.story

.venv-bench/ready: pyproject.toml constraints.txt benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r benchmarks/requirements.txt
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --editable ".[fast]"
	touch $@

clean:
	rm -rf $(VENV) .venv-bench build

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/core: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable ".[fast]"
	touch $@

# All that core has, and more: one installation is enough.
$(VENV)/dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable ".[dev]"
	touch $(VENV)/core $@
