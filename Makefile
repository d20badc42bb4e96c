# The commands of this project. `make help` lists them.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
DEVICE ?= openreg
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help nightly test test-deep bench performance lint lint-device schema docs site screenshot requirements doctor clean owners

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

nightly: $(VENV)/tool ## Run the nightly for one device: make nightly [DEVICE=openreg] [TORCH=nightly|nightly@DATE|2.13.0|path/to.whl] [PLUGIN=VERSION]
	@$(BIN)/ootci nightly "$(DEVICE)" $(if $(TORCH),--torch "$(TORCH)") $(if $(PLUGIN),--plugin "$(PLUGIN)")

# A worker more than there are CPUs, because browsers and act wait much of their time; four at most, because most of what
# is long waits for one nightly and compiles on every CPU itself.
WORKERS := $(shell cpus=$$(nproc); echo $$((cpus < 4 ? cpus + 1 : 4)))
PYTEST := $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder --durations=25

# The parts that ci.yml runs side by side, by the markers of their tests. Each test is in one of them.
PART_fast := not act and not browser and not torch
PART_openreg := torch
PART_workflows := act
PART_browser := browser

test: $(VENV)/linters ## Run every check that a change has to pass: make test [PART=fast|openreg|workflows|browser]
	$(PYTEST) -m "not deep$(if $(PART), and ($(PART_$(PART))))" $(PYTEST_ARGS)

test-deep: $(VENV)/linters ## Run the tests that make test leaves out, which take hours
	$(PYTEST) -m deep $(PYTEST_ARGS)

bench: $(VENV)/development ## Measure what all of it costs, as ratios (after make nightly): make bench [ONLY="ingest pages"]
	@$(BIN)/python tests/system/bench/run.py $(ONLY)

performance: $(VENV)/development ## Write docs/performance.md again, from what make bench measured
	$(BIN)/python tests/system/bench/performance_page.py $(wildcard .ootci/bench.json)

lint: $(VENV)/development ## Run the linters, the type checkers and the language lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check scripts tests docs
	$(BIN)/mypy
	$(BIN)/python tests/system/language.py

# torch is typed in parts only, so what it leaves out is not asked of the suites.
lint-device: $(VENV)/development ## Check the types of the device suites against the device's torch (after make nightly)
	cd tests/device && "$(abspath $(BIN))/mypy" --config-file= --strict --allow-untyped-calls --allow-untyped-decorators \
		--no-warn-return-any --python-version 3.10 --explicit-package-bases --cache-dir ../../.ootci/mypy \
		--python-executable "$(abspath .ootci/envs/$(DEVICE)/bin/python)" .

schema: $(VENV)/tool ## Write devices/device.schema.json again, from the model
	$(BIN)/ootci schema device > devices/device.schema.json

owners: $(VENV)/tool ## Write .github/CODEOWNERS again, from the device files
	$(BIN)/ootci device owners > .github/CODEOWNERS

# Not --quiet: ProperDocs would then count no warning, and not be strict.
docs: $(VENV)/development ## Build the documentation site into .ootci/docs
	$(BIN)/properdocs build --strict
	@echo "documentation: $(abspath .ootci/docs/index.html)"

# Without exec, a shell would say that Ctrl-C ended it.
site: $(VENV)/tool ## Render the invented sample site and serve it on loopback: make site [NIGHTS=90] [SERVE=no]
	@exec $(BIN)/python tests/system/sample_site.py $(if $(NIGHTS),--nights "$(NIGHTS)") $(if $(SERVE),--serve "$(SERVE)")

screenshot: $(VENV)/development ## Take the README's screenshot again, from the sample site
	$(BIN)/python tests/system/screenshot.py

requirements: ## Pin the requirements again: of development, of the tool, and of the documentation
	$(PYTHON) -m venv .ootci/requirements
	.ootci/requirements/bin/python -m pip --disable-pip-version-check install --quiet --upgrade . -r requirements-dev.in
	(head -1 requirements-dev.txt; .ootci/requirements/bin/python -m pip freeze --exclude ootci) > requirements-dev.new
	mv requirements-dev.new requirements-dev.txt
	.ootci/requirements/bin/python -m pip --disable-pip-version-check install --quiet --upgrade uv
	(head -2 requirements.txt; .ootci/requirements/bin/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes \
		--no-annotate --no-header --no-python-downloads pyproject.toml) > requirements.new
	mv requirements.new requirements.txt
	(head -2 requirements-docs.txt; .ootci/requirements/bin/uv pip compile --quiet --generate-hashes --no-annotate \
		--no-header --no-python-downloads --python-version 3.11 --python-platform linux \
		--constraint requirements-dev.txt pyproject.toml requirements-docs.in) > requirements-docs.new
	mv requirements-docs.new requirements-docs.txt

doctor: $(VENV)/tool ## List what is missing on this machine
	@$(BIN)/ootci doctor

clean: ## Remove everything that the commands made, the history excepted
	rm -rf $(VENV) .ootci site

# The tool's own environment; torch never enters it.
$(VENV)/tool: pyproject.toml
	@echo "setting up the tool's environment in $(VENV) with $(PYTHON) ..." >&2
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --quiet --editable .
	@touch $@

$(VENV)/development: $(VENV)/tool requirements-dev.txt
	@echo "installing the development requirements ..." >&2
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --quiet --requirement requirements-dev.txt
	@touch $@

# The linters of workflow files that are on npm only. Whoever has no npm does without them, except in CI, where their
# tests fail. Nothing that a package brings is run to install it.
LINTERS := tests/system/contract/linters
$(VENV)/linters: $(VENV)/development $(LINTERS)/package-lock.json
	@if command -v npm >/dev/null; then \
		echo "installing the linters of workflows ..." >&2; rm -rf $@ && mkdir $@ && cp $(LINTERS)/package*.json $@ && \
		npm ci --prefix $@ --ignore-scripts --no-audit --no-fund --loglevel=error >&2 || { rm -rf $@; exit 1; }; \
	else \
		echo "there is no npm: the linters of workflows that come from there are left out" >&2; \
	fi
