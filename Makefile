# The few commands of this project. `make help` lists them.

SHELL := /bin/bash
PACKAGES := libcurl4-openssl-dev libsqlite3-dev libsystemd-dev libxml2-dev pkg-config zlib1g-dev
PKGCONFIGS := libcurl sqlite3 libsystemd libxml-2.0 zlib
CONFIG ?= release
NEWSWIRE := .build/$(CONFIG)/newswire
# The release carries the Swift libraries, so that it runs, and starts faster, where there is no toolchain.
LINKING := $(if $(filter release,$(CONFIG)),--static-swift-stdlib)
SHARE := .build/share
# How long 'make fuzz' runs each target, and which.
SECONDS ?= 60
FUZZ ?= xml json dates html opml registrations filters sends management authorization expressions templates patches
SCRIPTS := .ci/check-imports.swift .ci/manual-pages.swift
PREFIX ?= /usr/local
# All tests at once would starve each other on two cores, until time-outs of the program itself are reached.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8
# Libraries that others wrote, which judge what is encrypted and signed for push services.
ORACLES := .build/oracles
# What the tests of the pages need beside Firefox and Chromium, and how often each of them is run.
BROWSERS := .build/browsers
ROUNDS ?= 1
# How often a case may fail before it has failed.
TRIES ?= 1
# The commit that 'newswire --version' names; without git, and in a plain 'swift build', none.
ifeq ($(origin NEWSWIRE_COMMIT),undefined)
export NEWSWIRE_COMMIT := $(if $(wildcard .git),$(shell git describe --always --abbrev=12 --dirty --exclude='*' 2>/dev/null))
endif
# Prints what failed and the sum; .build/test.log has all of it.
RUN_TESTS = set -o pipefail; \
	if [ -x $(ORACLES)/bin/python ]; then export NEWSWIRE_ORACLES="$$PWD/$(ORACLES)/bin/python"; fi; \
	NEWSWIRE_BINARY="$$(swift build --show-bin-path)/newswire" swift test --skip-build 2>&1 | tee .build/test.log | \
	grep --line-buffered -E '^(✘|↳|✔ Test run)|(^|: )error: |Fatal error'
# A build says what it does on a terminal only.
QUIET := $(shell [ -t 2 ] || echo --quiet)

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-browser oracles program build bench fuzz install uninstall deb release lint format deps

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# Not optimized: a newcomer sees it in a third of the time, and `make test` goes on from this build.
demo: deps ## the whole pipeline on a scratch directory: hub, publisher, two agents
	swift build --product newswire
	@.build/debug/newswire demo --once

# Programs that the tests run, each from the package of its name: a session bus of their own.
test test-long: TEST_PROGRAMS := dbus-daemon python3
lint: TEST_PROGRAMS := python3

test: deps lint oracles ## every check: style, imports, unit and end-to-end tests
	swift build --build-tests $(QUIET)
	@$(RUN_TESTS)

test-long: deps oracles ## the tests with the long runs of those that are random
	swift build --build-tests $(QUIET)
	@NEWSWIRE_LONG=1; export NEWSWIRE_LONG; $(RUN_TESTS)

# Where there are no browsers, and they cannot be installed, it says so and does no more.
test-browser: oracles ## the pages of the built program, in Firefox and Chromium; screenshots in .build/screenshots
	@[ -n "$$NEWSWIRE_BINARY" ] || swift build --product newswire $(QUIET) || exit; \
	program="$${NEWSWIRE_BINARY:-.build/debug/newswire}"; \
	python=python3; [ ! -x $(ORACLES)/bin/python ] || python=$(ORACLES)/bin/python; \
	.ci/browser/install $(BROWSERS) "$$python" || { status=$$?; [ $$status != 75 ] || exit 0; exit $$status; }; \
	axe=$(BROWSERS)/axe/axe_playwright_python/axe.min.js; [ ! -f $$axe ] || set -- --axe $$axe; \
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Browser/run.py "$$program" "$$@" --rounds $(ROUNDS) --tries $(TRIES)

# Without them the tests that need them are skipped.
oracles: ## what judges encryption and signatures in the tests: a virtual environment of Python in .build/oracles
	@mkdir -p .build
	@cmp -s .ci/oracles/requirements.txt $(ORACLES)/requirements.txt || { \
	  rm -rf $(ORACLES) && python3 -m venv $(ORACLES) && \
	  $(ORACLES)/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 \
	    --requirement .ci/oracles/requirements.txt && \
	  cp .ci/oracles/requirements.txt $(ORACLES)/requirements.txt; } >.build/oracles.log 2>&1 || { \
	  rm -rf $(ORACLES); \
	  echo "oracles: no virtual environment from PyPI (.build/oracles.log); the tests that need it are skipped"; }

build: program $(SHARE) ## .build/release/newswire, its shell completions and manual pages

program: deps
	swift build --configuration $(CONFIG) --product newswire $(LINKING)

$(SHARE): $(NEWSWIRE) packaging/share .ci/manual-pages.swift
	packaging/share $(NEWSWIRE) $@

# 'program' decides whether this is up to date.
$(NEWSWIRE): program ;

bench: build ## what it costs, beside a floor and a peer; for a machine with nothing else to do
	Benchmarks/idle-publish.py $(NEWSWIRE)
	Benchmarks/fan-out.py $(NEWSWIRE)

fuzz: deps ## each reader on random documents, SECONDS=60 each; FUZZ="xml opml" chooses
	Fuzz/run $(SECONDS) $(FUZZ)

install: ## what 'make build' has made, below $(PREFIX); PREFIX and DESTDIR say otherwise
	@BUILT=$(NEWSWIRE) SHARE=$(SHARE) PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install install

uninstall: ## takes away what 'make install' has installed; settings and state stay
	@BUILT=$(NEWSWIRE) SHARE=$(SHARE) PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install uninstall

deb: build ## .build/newswire_VERSION_ARCH.deb
	@BUILT=$(NEWSWIRE) SHARE=$(SHARE) packaging/deb/build

release: build ## Debian package, archive and checksums in .build/release-VERSION, and what to tag
	@BUILT=$(NEWSWIRE) SHARE=$(SHARE) packaging/release

lint: deps ## code style, the import rule, links, wording and the systemd units
	swift format lint --strict --recursive Sources Tests Fuzz Package.swift $(SCRIPTS)
	@mkdir -p .build/lint
	swiftc -swift-version 6 -o .build/lint/check-imports .ci/check-imports.swift
	swift package dump-package | .build/lint/check-imports Sources
	.ci/check-links.py
	.ci/check-wording.py
	.ci/check-units systemd

format: ## rewrites the code in the project's style
	swift format --in-place --recursive Sources Tests Fuzz Package.swift $(SCRIPTS)

# Everything that the build, and the tests, need beyond a Swift toolchain. Installs it where that is allowed, else says what to run.
deps:
	@command -v swift >/dev/null || { \
	  echo "newswire needs Swift 6.2 or later: https://www.swift.org/install/linux" >&2; exit 69; }
	@missing=; \
	for program in pkg-config $(TEST_PROGRAMS); do command -v $$program >/dev/null || missing=1; done; \
	[ -n "$$missing" ] || pkg-config --exists $(PKGCONFIGS) || missing=1; \
	[ -z "$$missing" ] && exit 0; \
	install="apt-get install --yes --no-install-recommends $(PACKAGES) $(TEST_PROGRAMS)"; \
	if ! command -v apt-get >/dev/null; then \
	  echo "newswire needs the development files of libcurl, SQLite, libsystemd, libxml2 and zlib, and pkg-config" >&2; \
	  [ -z "$(TEST_PROGRAMS)" ] || echo "its tests need $(TEST_PROGRAMS)" >&2; exit 69; \
	elif [ "$$(id -u)" = 0 ]; then \
	  export DEBIAN_FRONTEND=noninteractive; \
	  $$install >/dev/null || { apt-get update && $$install; }; \
	elif sudo -n true 2>/dev/null; then \
	  sudo -n $$install >/dev/null || { sudo -n apt-get update && sudo -n $$install; }; \
	else \
	  echo "some libraries or programs are missing; please run:" >&2; echo "  sudo $$install" >&2; exit 69; \
	fi
