# What one can do here. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready
VECTORS ?= tests/vectors
ARGS ?=
RIGHTS := $(CURDIR)/build/kube-rights
N ?= 300
SCREENSHOTS ?= build/screenshots

.PHONY: ui-assets ui-test screenshots help setup demo test lint format conformance bench safety kube-assets crds map reference docs sbom lock package-test prometheus-test kube-test kube-bench plots clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*## "} {printf "  %-12s %s\n", $$1, $$2}'

setup: $(READY) ## make the environment in .venv

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once)"
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]'; \
	else \
	  $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'; \
	fi
	@touch $@

demo: $(READY) ## run examples/canary from YAML to finished fleet, in virtual time
	@$(BIN)/rollout demo

test: $(READY) ## run the tests that need nothing but this machine
	$(BIN)/pytest -q -n 2 --dist loadfile -m "not kube and not package and not ui and not prometheus" $(ARGS)
	@$(BIN)/python -m tests.differential 3000

lint: $(READY) ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/test_layers.py

format: $(READY) ## put the code into its form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

conformance: $(READY) ## compare with the answers of OCM's own code, and calendars with an oracle in all zones (VECTORS=DIR ARGS="--show ID | --excepted")
	@$(BIN)/python -m tests.conformance --vectors $(VECTORS) $(ARGS)
	$(if $(ARGS),,@$(BIN)/python -m tests.support.calendar_oracle)

safety: $(READY) ## run N random histories of each kind of workload against the safety contract, look for all kept faults, print both (N=100000)
	@$(BIN)/python -m tests.safety --histories $(N) --table $(ARGS)

bench: $(READY) ## measure, print a table, write benchmarks/results.json
	@$(BIN)/python -m benchmarks $(ARGS)

ui-assets: ## put Chromium and axe-core where ui-test looks for them (a minute, once)
	@scripts/ui-assets.sh

ui-test: $(READY) ## run the tests of the dashboard in a real browser
	$(BIN)/pytest -q -m ui tests/ui $(ARGS)

screenshots: $(READY) ## write every page of the dashboard as a picture, to be looked at (SCREENSHOTS=DIR)
	@$(BIN)/python -m tests.ui.screenshots $(SCREENSHOTS)

kube-assets: ## put kube-apiserver and etcd where kube-test looks for them (4-5 minutes, once)
	@scripts/kube-assets.sh

map: $(READY) ## draw the table of packages in docs/architecture.md
	@$(BIN)/python -m tests.support.map

reference: $(READY) ## write docs/reference from the code
	@COLUMNS=100 $(BIN)/python -m tests.support.reference

sbom: $(READY) ## list what the installed package is made of, as CycloneDX, in build/sbom.json
	@rm -rf build/sbom && $(PYTHON) -m venv build/sbom
	@build/sbom/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt .
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check cyclonedx-bom
	$(BIN)/python -m cyclonedx_py environment --output-reproducible --pyproject pyproject.toml -o build/sbom.json build/sbom/bin/python

lock: $(READY) ## list what an installation is made of, with hashes for this platform, in build/requirements.lock
	@mkdir -p build
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --dry-run --ignore-installed \
	  --report build/pip-report.json -c constraints.txt '.[ui]'
	@$(BIN)/python scripts/lock.py < build/pip-report.json > build/requirements.lock
	@wc -l < build/requirements.lock | xargs printf '%s packages in build/requirements.lock\n'

docs: $(READY) ## make the documentation's pages in build/docs
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

crds: $(READY) ## write manifests/crds from the models
	@$(BIN)/python -m rollout.api.crds

package-test: $(READY) ## build the package, install it into an environment of its own, and use it there
	$(BIN)/pytest -q -m package tests/package $(ARGS)

prometheus-test: $(READY) ## run the tests that need a real Prometheus (PROMETHEUS; else Debian's package is unpacked)
	PROMETHEUS=$$(scripts/prometheus.sh) $(BIN)/pytest -q -m prometheus tests/unit/providers tests/stories/test_slow_release_day.py $(ARGS)

kube-test: $(READY) ## run the tests that need a real kube-apiserver (KUBEBUILDER_ASSETS), one also with a real Prometheus; then fail for a right that nobody used, and for a use without a right
	@rm -rf $(RIGHTS)
	ROLLOUT_KUBE_RIGHTS=$(RIGHTS) $(BIN)/pytest -q -n 2 --dist loadfile -m kube tests/kube $(ARGS)
	$(if $(ARGS),,@$(BIN)/python -m tests.kube.rights $(RIGHTS))

kube-bench: $(READY) ## measure on a real kube-apiserver (CONTROLLER='cmd': another controller; AGAINST='cmd': both by turns, as ratios)
	@$(BIN)/python -m benchmarks.kube $(ARGS)

plots: $(READY) ## draw the tables and plots of docs/scale.md from benchmarks/receipts
	@$(BIN)/python -m benchmarks.drawn

clean: ## remove the environment and what tools left behind
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
