# Every target is one call of the tool or of the test runner; docs/ says when to use which.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: setup check strict test slow lint format bench page page-test clean

$(BIN)/opencoti-patches: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	$(BIN)/python -m compileall -q opencoti_patches  # an editable install is not compiled by pip
	touch $@

setup: $(BIN)/opencoti-patches

# The main job: fetch the base, prove that the series applies strictly on the real llama.cpp.
check: setup
	$(BIN)/opencoti-patches check

strict: setup
	$(BIN)/opencoti-patches check --no-offset --locked

test: setup
	$(BIN)/python -m pytest -n auto

# The same tests with many more examples of each property, and those that need the network.
slow: setup
	OPENCOTI_EXAMPLES=2000 $(BIN)/python -m pytest -n auto --durations=20

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/opencoti-patches lint

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/carry.py

# The series as one page (docs/report.md), and its test in a Chromium of the machine's own.
page: setup
	$(BIN)/opencoti-patches report --html build/page.html

page-test: setup
	$(BIN)/python -m pip install --quiet --group browser
	$(BIN)/python -m pytest tests/cli/test_report_page.py tests/e2e/test_page_browser.py

# The walk of docs/carry.md: this project's own series through four versions of the sdist, every output compared.
.PHONY: walk

walk: setup
	$(BIN)/python tests/walk/walk.py

clean:
	rm -rf $(VENV) .opencoti tree

# The head split of patches/, built in build/m2 and proven (docs/m2.md): on the CPU against itself and the bare base,
# through rpc-server, with planted bugs, and with a trained model from the package index. Needs cmake and a C++ compiler.
.PHONY: m2 m2-rpc m2-planted m2-trained m2-walk

m2: setup
	$(BIN)/python tests/m2/build.py cpu

m2-rpc: setup
	$(BIN)/python tests/m2/build.py rpc

m2-planted: setup
	$(BIN)/python tests/m2/build.py planted

m2-trained: setup
	$(BIN)/python tests/m2/build.py trained

# The same series where a bump took it (tests/walk): make m2-walk [TO=0.3.28]
TO ?= 0.3.28

m2-walk: setup
	$(BIN)/python tests/m2/build.py cpu --project tests/walk/$(TO) --dir build/m2-$(TO) --no-window-on-device

# Smoke tests, canary and bisect (docs/build.md) on the real llama-server with a trained model, in build/smoke.
.PHONY: smoke

smoke: setup
	$(BIN)/python tests/smoke/real.py

# A release of what is built, made and verified (docs/release.md): make release REPO=owner/name [OUT=out/release]
# [SINCE=INDEX] [CHANNEL=release] [RELEASE_FLAGS=--unsmoked].
.PHONY: release
OUT     ?= out/release
CHANNEL ?= dev

release: setup
	$(BIN)/opencoti-patches check --locked
	$(BIN)/opencoti-patches build cpu
	$(BIN)/opencoti-patches smoke cpu --model "$$($(BIN)/python tests/m2/trained.py --dir build/m2/model)"
	$(BIN)/opencoti-patches package --component engine --channel $(CHANNEL) --out $(OUT) \
	    $(if $(REPO),--repo $(REPO)) $(if $(SINCE),--since $(SINCE)) $(RELEASE_FLAGS)
	$(BIN)/opencoti-patches verify $(OUT)

# The man page, from the commands themselves; a test holds that it is what they say.
.PHONY: man
man: setup
	$(BIN)/python docs/man.py man/opencoti-patches.1

# The docs as a site in build/site, every link and anchor checked. Once the tools are there, without the network.
.PHONY: docs
docs: setup
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/mkdocs build --strict --quiet
