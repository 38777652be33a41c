# Everything one does here is one command. A fresh machine needs Python 3.11 or newer and make;
# the first command builds .venv from the hashed locks, later ones find it ready.

PORT     ?= 8000
DATA_DIR ?= $(or $(MEMORYADMIN_DATA_DIR),var)
DEMO     ?= 1
ARGS     ?=

VENV := .venv
BIN  := $(VENV)/bin
# The first of these that runs; 3.11 comes first because the locks are made with it.
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $(name))))

lock_sum = $(shell cat $(1) | cksum | cut -d' ' -f1)
RUNTIME := $(VENV)/.runtime-$(call lock_sum,requirements.txt)
DEV     := $(VENV)/.dev-$(call lock_sum,requirements.txt requirements-dev.txt)
PIP     := $(BIN)/python -m pip --disable-pip-version-check -qq
COMPILE := $(BIN)/pip-compile --quiet --allow-unsafe --generate-hashes --strip-extras --no-header \
	--no-emit-index-url --no-emit-find-links

export MEMORYADMIN_DATA_DIR := $(DATA_DIR)
export PYTHONUNBUFFERED := 1

.DEFAULT_GOAL := help
.PHONY: help run test test-slow check formatted lint types imports migrations document fmt bench \
	bench-large lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' Makefile

run: $(RUNTIME) ## start database, web, worker and beat (PORT=8000 DATA_DIR=var DEMO=1)
	@exec $(BIN)/python manage.py up --port $(PORT) $(if $(filter 0,$(DEMO)),--no-demo)

test: $(DEV) ## run the test suite (ARGS="tests/episodes -k search")
	@exec $(BIN)/python -m pytest $(ARGS)

test-slow: $(DEV) ## run what takes longer than CI may
	@exec $(BIN)/python -m pytest -m slow $(ARGS)

check: formatted lint types imports migrations document ## all of these (make -k check: to the end)

formatted: $(DEV) ## is the code formatted?
	@$(BIN)/ruff format --check --quiet . || { echo "not formatted: run 'make fmt'" >&2; exit 1; }

lint: $(DEV) ## ruff
	@$(BIN)/ruff check --quiet --output-format concise .

types: $(DEV) ## mypy
	@$(BIN)/mypy

imports: $(DEV) ## do imports point one way?
	@$(BIN)/lint-imports >$(VENV)/imports.log 2>&1 || { cat $(VENV)/imports.log >&2; exit 1; }

migrations: $(DEV) ## do models and migrations agree? do settings and models stand Django's checks?
	@$(BIN)/python manage.py makemigrations --check --dry-run
	@$(BIN)/python manage.py check

document: $(DEV) ## is the OpenAPI document valid and free of guesses?
	@$(BIN)/python manage.py spectacular --validate --fail-on-warn --file $(VENV)/openapi.yaml

fmt: $(DEV) ## format the code and mend what the linter can
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

bench: $(RUNTIME) ## measure search, pages, sharing, reach, sweep and erasure, 100,000 episodes
	@$(BIN)/python -m benchmarks $(ARGS)
	@$(if $(ARGS),,$(BIN)/python -m benchmarks.erasure)

bench-large: $(RUNTIME) ## the same on 1,000,000 episodes
	@exec $(BIN)/python -m benchmarks --large $(ARGS)

lock: $(DEV) ## write requirements*.txt anew from requirements*.in (ARGS=--upgrade)
	@$(PIP) install pip-tools
	@$(COMPILE) $(ARGS) --output-file requirements.txt requirements.in
	@$(COMPILE) $(ARGS) --output-file requirements-dev.txt requirements-dev.in

clean: ## remove the environment and the caches; the data folder stays
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache staticfiles

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed (none of python3.11 .. python3 is)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make environments: install its venv package (Debian: python3-venv)" >&2; exit 1; }
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV)

$(RUNTIME): | $(BIN)/python
	@echo "installing requirements.txt"
	@$(PIP) install --require-hashes -r requirements.txt
	@rm -f $(VENV)/.runtime-* && touch $@

$(DEV): $(RUNTIME)
	@echo "installing requirements-dev.txt"
	@$(PIP) install --require-hashes -r requirements.txt -r requirements-dev.txt
	@rm -f $(VENV)/.dev-* && touch $@
