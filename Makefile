# `make` lists what there is. Needs Python 3.11 or later, make and a package index; Java comes from a wheel if absent.

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
INSTALLED := .venv/.installed
CHECKED := coalesce tests benchmarks manifests docs

.DEFAULT_GOAL := help
.PHONY: help demo dist test test-matrix test-stores mutants lint format reference bench bench-quick clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## write a small table, query it and show what pruning did
	$(BIN)/coalesce demo $(ARGS)

test: lint ## lint, then run every test (ARGS="-k name" picks some)
	$(BIN)/python -m tests $(ARGS)

# The newest Spark the library is known to work with, in an environment of its own. What is pinned for Spark's sake in
# constraints.txt is left to that Spark.
SPARK ?= 4.3.0
OTHER := .venv-$(SPARK)

test-matrix: $(OTHER)/.installed .venv-oldest/.installed ## run the Spark tests on another Spark (SPARK=4.3.0), all on the oldest releases
	$(OTHER)/bin/python -m pytest -p no:cacheprovider tests/spark $(ARGS)
	.venv-oldest/bin/python -m tests -p no:cacheprovider $(ARGS)

test-stores: $(INSTALLED) ## run the storage tests on emulators of Azure and Google, HDFS and S3A (npm, go, mvn)
	$(BIN)/python -m tests.stores $(ARGS)

mutants: $(INSTALLED) ## plant bugs one by one and see whether the tests notice (ARGS="--only planner")
	@$(BIN)/python -m tests.mutants $(ARGS)

lint: $(INSTALLED) ## ruff and mypy, changing nothing
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy $(CHECKED)

format: $(INSTALLED) ## let ruff fix and format what it can
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

reference: $(INSTALLED) ## write docs/reference.md from the docstrings
	$(BIN)/python -m docs.reference

# The wheel is made from the source distribution, as a package index's users would, and tried in an environment that has
# nothing else.
dist: ## build the source distribution and the wheel in dist/, and try the wheel
	rm -rf dist build/dist
	$(PYTHON) -m venv build/dist/builder
	build/dist/builder/bin/python -m pip install --quiet --disable-pip-version-check build
	build/dist/builder/bin/python -m build --outdir dist
	$(PYTHON) -m venv build/dist/user
	build/dist/user/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd build/dist && user/bin/python -I -c "import coalesce; print(coalesce.__file__, coalesce.__version__)"
	cd build/dist && user/bin/python -I user/bin/coalesce --help > /dev/null
	ls -l dist

bench: $(INSTALLED) ## run every workload on every engine, draw and report (ARGS="list", "run saas-events --size 20m", …)
ifeq ($(ARGS),)
	$(BIN)/python -m benchmarks run all
	$(BIN)/python -m benchmarks run adversarial --size threshold
	$(BIN)/python -m benchmarks run adversarial --size tuples
	$(BIN)/python -m benchmarks run growth --size 10k
	$(BIN)/python -m benchmarks run growth --size 100k
	$(BIN)/python -m benchmarks plot
	$(BIN)/python -m benchmarks report
else
	$(BIN)/python -m benchmarks $(ARGS)
endif

bench-quick: $(INSTALLED) ## one workload in its quick form on ten engines, in less than ten minutes
	$(BIN)/python -m benchmarks run saas-events --size quick --out build/bench/quick.json $(ARGS)

clean: ## remove the environment, caches and build products
	rm -rf .venv .venv-* .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Rebuilt when what is to be installed changes. The stamp comes last, so an interrupted installation starts again.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

$(OTHER)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(OTHER)
	grep -v -E '^(pyspark|py4j|protobuf|grpcio|grpcio-status|googleapis-common-protos)==' constraints.txt \
	    > $(OTHER)/constraints.txt
	$(OTHER)/bin/python -m pip install --quiet --disable-pip-version-check -c $(OTHER)/constraints.txt \
	    "pyspark[connect,sql]==$(SPARK)" -e ".[java,objects,iceberg,delta]" pytest hypothesis psutil
	touch $@

# The oldest release of everything that the library says it works with.
.venv-oldest/.installed: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt \
	    -e ".[spark,java,objects,iceberg,delta]" boto3 duckdb hatchling hatch-fancy-pypi-readme hypothesis jsonschema \
	    "moto[s3,server]" polars psutil pytest
	touch $@
