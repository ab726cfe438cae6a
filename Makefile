# Every command sets up what it needs in .venv first. `make help` lists them.

PYTHON ?=
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   ?= inj-scratch-full-one-host
CASES  ?= $(firstword $(wildcard ../shared/cases) tests/cases)

# A user's own settings for Python and pip must not leak into the environment, nor out of it.
unexport PYTHONPATH PYTHONHOME PIP_USER PIP_TARGET PIP_PREFIX
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test check lint format-check ruff mypy imports format bench accuracy clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

demo: $(VENV)/ready ## diagnose a recorded real failure: verdict here, report in out/demo.html
	@mkdir -p out
	@$(BIN)/denpex-collect tests/cases/$(DEMO)/input --html out/demo.html
	@echo "The report is in $(CURDIR)/out/demo.html"

test: $(VENV)/ready-dev ## run all tests (ARGS='-k word' to choose)
	@$(BIN)/python -m pytest $(ARGS)

lint: STEPS := format-check ruff mypy imports
check: STEPS := format-check ruff mypy imports test

lint: ## formatting, ruff, mypy --strict, import contract
check: ## lint and test: what CI runs

lint check: $(VENV)/ready-dev
	@failed=; for step in $(STEPS); do \
	    echo "== $$step"; $(MAKE) --no-print-directory $$step || failed="$$failed $$step"; \
	done; \
	if [ -n "$$failed" ]; then echo "make $@: failed:$$failed" >&2; exit 1; fi

format-check: $(VENV)/ready-dev
	@$(BIN)/ruff format --check --output-format concise . || { echo "mend it with: make format" >&2; exit 1; }

ruff: $(VENV)/ready-dev
	@$(BIN)/ruff check --output-format concise .

mypy: $(VENV)/ready-dev
	@$(BIN)/mypy

imports: $(VENV)/ready-dev
	@$(BIN)/lint-imports

format: $(VENV)/ready-dev ## rewrite the sources as the formatter wants them
	@$(BIN)/ruff check --fix --quiet --exit-zero . && $(BIN)/ruff format .

bench: $(VENV)/ready-dev ## run the benchmarks of tests/bench
	@for script in tests/bench/*.py; do echo "== $$script"; $(BIN)/python $$script || exit; done

accuracy: $(VENV)/ready-dev ## how often the diagnosis is right, over CASES
	@$(BIN)/python tests/accuracy.py $(CASES)

include tests/cluster/cluster.mk

clean: ## remove what the commands above have made
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment knows the folder it was made in: a tree that was moved or copied gets a new one.
ifneq ($(shell cat $(VENV)/ready 2>/dev/null),$(CURDIR))
.PHONY: $(VENV)/ready
endif

$(VENV)/ready: pyproject.toml .ci/make-venv
	@PYTHON='$(PYTHON)' sh .ci/make-venv $(VENV)
	@$(BIN)/python -m pip install --quiet --editable .
	@echo '$(CURDIR)' > $@

# The dev group is read here, since only pip 25.1 and later can (--group); Debian 12 and RHEL 9 have older ones.
$(VENV)/ready-dev: $(VENV)/ready
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' > $(VENV)/dev.txt
	@$(BIN)/python -m pip install --quiet --requirement $(VENV)/dev.txt
	@touch $@
