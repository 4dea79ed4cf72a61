# make test             everything that needs no GPU: lint, types, tests; installs what it needs under .venv/
# make demo             a GEMM for Hopper, on a GPU if there is one and on the simulator if not
# make gpu-test         the tests that need a GPU, and the examples, which use it where torch sees one
# make lint             ruff, mypy, pyright
# make bench            compile times, as docs/lab/measurements.md has them
# make bench-launch     host time of a launch, beside a C loop, torch, Triton, CuPy and others. Needs a GPU
# make bench-attention  attention and its gradients against cuDNN, FlashAttention-4 and FlexAttention. Needs a GPU
# make bench-rows       kernels of rows against torch, torch.compile, QuACK and Liger, with pictures. Needs a GPU
# make bench-gemm       GEMMs against cuBLAS, Triton and others; SETS=large,skinny,majors,types,fp8 or all. Needs a GPU
#                       and torch: PY=python3 for the Python that has it
# make fleet            32 processes over one kernel cache, killed, out of disk and so on; about a minute
# make mutate           breaks every kernel with asynchrony in every way; the checker must find it
# make fuzz             random kernels by NumPy and the simulator, and on a GPU if there is one; FUZZ=20000 for so many;
#                       random signatures, programs, accesses, boxes of TMA, products, rings, gradients of norms, races,
#                       mistakes and layouts
# make docs             a site of the pages and a reference of the names in docs/_build; runs the tutorial
# make update-launcher  the IR of the launcher, after its C was changed
# make update           rewrite what is made: golden files, messages, the stub, pages; read the diff like code
#
# V=3.13 takes that Python instead of the first found. PY=/path/to/python takes that one as it is, installs nothing.

VERSIONS := 3.12 3.13 3.11 3.14 3.14t
FOUND := $(shell sh .ci/pythons $(VERSIONS))
HERE := $(foreach found,$(FOUND),$(firstword $(subst =, ,$(found))))
V := $(firstword $(HERE))
OTHERS := $(filter-out $(V),$(HERE))
TESTED := .venv/.test-$(subst $() ,-,$(OTHERS))
python_of = $(lastword $(subst =, ,$(filter $(1)=%,$(FOUND))))

ifdef PY
INSTALLED :=
else
PY := .venv/$(V)/bin/python
INSTALLED := .venv/$(V)/.dev
endif

# Tests start many processes, which would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPATH := $(CURDIR)$(if $(PYTHONPATH),:$(PYTHONPATH))

# What depends on the version of Python: bytecode, and all that reads it.
FRONT_TESTS := $(filter-out %/test_arguments.py,$(wildcard tests/front/test_*.py)) \
	$(wildcard tests/diag tests/golden/test_golden_front.py tests/test_errors.py tests/run/test_examples.py)
# What depends on there being no lock: launches.
THREAD_TESTS := $(wildcard tests/dispatch tests/rt tests/test_threads.py)
PIP := -m pip install --quiet --no-compile --config-settings editable_mode=compat --editable

.PHONY: test lint gpu-test bench bench-rows bench-attention bench-launch bench-gemm demo docs update update-launcher pythons

# Kernels that have no arrays would run on a GPU, where tests mean the simulator. What comes before the tests of all
# takes a core for each of its processes.
test: export CUDA_VISIBLE_DEVICES :=
test: pythons
	$(MAKE) --jobs --output-sync lint $(OTHERS:%=front-tests-%)
	$(PY) -m pytest --quiet -n 2 --dist worksteal

pythons:
	@echo "Pythons found: $(FOUND)"
	@test -n "$(V)" || { echo "none of $(VERSIONS) runs here: install one of them"; exit 1; }

lint: $(INSTALLED)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy cutelite cutelite_rt tests $(wildcard examples) & typed=$$!; \
	$(if $(wildcard examples),$(PY) -m pyright --warnings --pythonpath $(PY),:); found=$$?; wait $$typed && exit $$found

front-tests-%: $(TESTED)
	.venv/$*/bin/python -m pytest --quiet $(FRONT_TESTS) $(if $(filter %t,$*),$(THREAD_TESTS))

gpu-test: $(INSTALLED)
	@$(PY) -m tests.bench.needs
	$(PY) -m pytest --quiet -m "gpu or sm"
	$(PY) -m pytest --quiet tests/run

bench: $(INSTALLED)
	$(PY) tests/bench/compile_time.py

bench-launch: $(INSTALLED)
	@$(PY) -m tests.bench.needs torch
	$(PY) tests/bench/launch.py

bench-attention: $(INSTALLED)
	@$(PY) -m tests.bench.needs torch
	$(PY) tests/bench/attention.py
	$(PY) tests/bench/attention_backward.py
	$(PY) tests/bench/attention_backward.py --functions --lengths 4096

SETS := large,skinny
bench-rows: $(INSTALLED)
	@$(PY) -m tests.bench.needs torch
	mkdir -p build/bench-rows
	$(PY) tests/bench/rows.py --compile --json build/bench-rows/rows.json --pictures build/bench-rows
	$(PY) tests/bench/rows_whole.py
	$(PY) tests/bench/rows_ranges.py

bench-gemm: $(INSTALLED)
	@$(PY) -m tests.bench.needs torch
	$(PY) tests/bench/gemm.py --sets $(SETS) --out build/bench-gemm

fleet: $(INSTALLED)
	$(PY) tests/dispatch/fleet.py

JOBS := $(shell getconf _NPROCESSORS_ONLN)
FUZZ := 3000
FUZZED_ON = $(if $(shell nvidia-smi -L 2>/dev/null),--gpu)

mutate: $(INSTALLED)
	$(PY) -m tests.mutate.matrix --originals 50 --jobs $(JOBS)
	$(PY) -m tests.mutate.matrix --jobs $(JOBS)

fuzz: $(INSTALLED)
	$(PY) -m tests.fuzz.cases --count $(FUZZ) --jobs $(JOBS) $(FUZZED_ON)
	$(PY) -m tests.fuzz.cases --count $(FUZZ) --jobs $(JOBS) $(FUZZED_ON) --straight
	$(PY) -m tests.fuzz.cases --count $(FUZZ) --jobs $(JOBS) $(FUZZED_ON) --python
	$(PY) -m tests.fuzz.signatures --count $(FUZZ) $(FUZZED_ON)
	$(PY) -m tests.fuzz.sequences --count $(FUZZ) $(FUZZED_ON)
	$(PY) -m tests.fuzz.accesses --count $(FUZZ) $(FUZZED_ON)
	$(PY) -m tests.fuzz.boxes --count $(FUZZ) $(FUZZED_ON)
	$(PY) -m tests.fuzz.products --count $(FUZZ) $(FUZZED_ON)
	$(PY) -m tests.fuzz.rings --count $(FUZZ) $(FUZZED_ON)
	$(PY) -m tests.fuzz.gradients --seconds 300 $(FUZZED_ON)
	$(PY) -m tests.fuzz.orders --count $(FUZZ)
	$(PY) -m tests.fuzz.misuse --count $(FUZZ)
	$(PY) -m pytest --quiet -n $(JOBS) --hypothesis-profile=thorough tests/layout

demo: $(if $(INSTALLED),.venv/$(V)/.run)
	$(PY) -m cutelite.cli demo

docs: $(if $(INSTALLED),.venv/$(V)/.docs)
	$(PY) -m sphinx --fail-on-warning --keep-going -q -d docs/_build/pages docs docs/_build/html
	@echo "docs/_build/html/index.html"

update-launcher: $(INSTALLED)
	$(PY) -m tests.rt.launcher_ll

update: $(INSTALLED)
	$(PY) -m pytest --quiet $(addprefix tests/,golden test_generated.py test_errors.py front/test_language_page.py) --update

# The marks of what an environment has installed, each for the pyproject.toml it was installed from.
.venv/%/.dev: pyproject.toml | .venv/%/bin/python
	.venv/$*/bin/python $(PIP) '.[dev,cuda]'
	@touch $@
# One after the other, for pip writes to the checkout.
$(TESTED): pyproject.toml | $(INSTALLED) $(OTHERS:%=.venv/%/bin/python)
	for each in $(OTHERS); do .venv/$$each/bin/python $(PIP) '.[test]' || exit 1; done
	@touch $@
.venv/%/.run: pyproject.toml | .venv/%/bin/python
	.venv/$*/bin/python $(PIP) '.[cuda]'
	@touch $@
.venv/%/.docs: pyproject.toml | .venv/%/bin/python
	.venv/$*/bin/python $(PIP) '.[docs,cuda]'
	@touch $@
.venv/%/bin/python:
	$(call python_of,$*) -m venv .venv/$*
.SECONDARY:
