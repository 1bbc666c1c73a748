# The few commands of this project. `make help` lists them.

SHELL := /bin/bash
BUILD_PACKAGES := libcurl4-openssl-dev libnats-dev libnghttp2-dev libsqlite3-dev libsystemd-dev libxml2-dev pkg-config zlib1g-dev
PKGCONFIGS := libcurl libnats libnghttp2 sqlite3 libsystemd libxml-2.0 zlib
CONFIG ?= release
NEWSWIRE := .build/$(CONFIG)/newswire
# The release carries the Swift libraries, so that it runs, and starts faster, where there is no toolchain. Exporting its symbols, which no library
# needs, would make each start slower.
LINKING = $(if $(filter release,$(CONFIG)),--static-swift-stdlib -Xlinker --no-export-dynamic $(SMALL) $(REPRODUCIBLE))
# Relocations take 0.1 MB instead of 4 in this form, which lld writes and glibc 2.36 or later reads. All are applied at the start, after which their table
# can be read-only.
SMALL = -Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs -Xlinker -z -Xlinker now
# Links 6 MB of ICU's data, which the program needs, instead of 34; 'FILTER_ICU=' links all.
FILTER_ICU ?= yes
# The same commit gives the same program in every folder whose path has the same length (see packaging/reproduce): exactly the resolved packages,
# relative paths, and a build id that is the commit's.
REPRODUCIBLE = --force-resolved-versions -Xcc -ffile-prefix-map=$(CURDIR)=. -Xswiftc -file-prefix-map -Xswiftc $(CURDIR)=. $(BUILD_ID)
BUILD_ID = $(if $(findstring dirty,$(NEWSWIRE_COMMIT)),,$(addprefix -Xlinker --build-id=0x,$(shell git rev-parse HEAD 2>/dev/null)))
# What SwiftPM takes for its own Package.resolved: the revisions, and the checksum of the manifest, without which it resolves again.
RESOLVED := sed "s/\(\"originHash\" : \"\)[^\"]*/\1$$(sha256sum <Package.swift | cut -d' ' -f1)/" packaging/packages.json
SHARE := .build/share
# Seconds for which 'make fuzz' runs each target, and the targets.
SECONDS ?= 60
FUZZ ?= xml json dates html opml registrations filters sends management authorization expressions templates patches
SCRIPTS := .ci/check-imports.swift .ci/manual-pages.swift
PREFIX ?= /usr/local
# On two cores, all tests at once would starve each other until the program's own timeouts expire.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8
# Independent libraries that the tests compare our encryption, signatures and feeds with.
ORACLES := .build/oracles
# Independent checkers of what is shipped, for 'make test-packaging'.
CHECKERS := .build/checkers
# Files that the tests of the pages need besides Firefox and Chromium, and the number of runs of each test.
BROWSERS := .build/browsers
ROUNDS ?= 1
# Number of attempts of a test before it counts as failed.
TRIES ?= 1
# The commit that 'newswire --version' names; empty without git and in a plain 'swift build'.
ifeq ($(origin NEWSWIRE_COMMIT),undefined)
export NEWSWIRE_COMMIT := $(if $(wildcard .git),$(shell git describe --always --abbrev=12 --dirty --exclude='*' 2>/dev/null))
endif
# Makes a virtual environment of .ci/$(1)/requirements.txt in the folder $(2), unless it is there.
PYPI = cmp -s .ci/$(1)/requirements.txt $(2)/requirements.txt || { \
	rm -rf $(2) && python3 -m venv $(2) && \
	$(2)/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 --requirement .ci/$(1)/requirements.txt && \
	cp .ci/$(1)/requirements.txt $(2)/requirements.txt; } >.build/$(1).log 2>&1 || { \
	rm -rf $(2); echo "$(1): no virtual environment from PyPI (.build/$(1).log); the tests that need it are skipped"; }
# Prints failures and the totals, and ends a run that hangs; .build/test.log has the whole output.
RUN_TESTS = if [ -x $(ORACLES)/bin/python ]; then export NEWSWIRE_ORACLES="$$PWD/$(ORACLES)/bin/python"; fi; \
	NEWSWIRE_BINARY="$$(swift build --show-bin-path)/newswire" .ci/run-tests .build/test.log swift test --skip-build
# Pages at three nodes with one log, which take turns with the requests, and accounts in the tables of such a hub; what is left out
# needs a file of its own.
RUN_NODES = NEWSWIRE_TEST_NODES=3 .ci/run-tests .build/test-nodes.log swift test --skip-build \
	--filter '^(PageServer|AppBackend)Tests\.' --skip 'SessionShareTests|FullDiskTests|ImageTests'
# The publisher is run with the clock of each history; errors are printed when there are more than allowed, and .build/judgement.log
# has the tables. JUDGEMENT=required: without faketime, that is an error.
JUDGEMENT ?=
RUN_JUDGEMENT = command -v faketime >/dev/null || { \
	echo "judgement: skipped, because the program 'faketime' is missing: apt-get install faketime"; [ -z "$(JUDGEMENT)" ]; exit; }; \
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Judgement/run.py --binary "$$(swift build --show-bin-path)/newswire" \
	  --min-scenarios 97 --max-lost 1 --max-false 6 --max-wrong 2 --max-pairs-lost 2 --min-pairs 92 >.build/judgement.log 2>&1 || \
	  { cat .build/judgement.log; exit 1; }; \
	grep -E '^(scenarios|pairs) right' .build/judgement.log
# A build reports its progress on a terminal only.
QUIET := $(shell [ -t 2 ] || echo --quiet)

.DEFAULT_GOAL := help
.PHONY: help demo demo-cluster test test-long test-browser screenshots test-packaging test-deb judgement oracles program build bench fuzz install uninstall deb repository image reproduce release lint format deps

help: ## lists the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

# A debug build takes a third of the time, and `make test` continues from it.
demo: deps ## runs the whole pipeline in a scratch directory: hub, publisher, two agents
	swift build --product newswire
	@.build/debug/newswire demo --once

# Uses an installed nats-server, or the one of PyPI.
demo-cluster: deps oracles ## runs three hubs and three log servers, of which some are killed meanwhile
	swift build --product newswire $(QUIET)
	@engine="$$(command -v nats-server)" || engine="$$PWD/$(ORACLES)/bin/nats-server"; \
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Cluster/demo.py .build/debug/newswire "$$engine"

# Programs that the tests need, each in the package of its name; dbus-daemon is the session bus of the desktop's tests.
test test-long: TEST_PROGRAMS := dbus-daemon python3
# Python filters ICU's data, and writes down what the program is linked with.
program build bench install deb image reproduce release test-deb: TEST_PROGRAMS := python3
# What a test needs that is skipped without it.
test judgement: WANTED_PROGRAMS := faketime
lint test-browser screenshots demo-cluster judgement test-packaging: TEST_PROGRAMS := python3

test: deps lint oracles ## runs every check: style, imports, links, wording, unit and end-to-end tests
	swift build --build-tests $(QUIET)
	@$(RUN_TESTS)
	@$(RUN_NODES)
	@$(RUN_JUDGEMENT)

test-long: deps oracles ## runs the tests, with the long runs of the random ones
	swift build --build-tests $(QUIET)
	@NEWSWIRE_LONG=1; export NEWSWIRE_LONG; $(RUN_TESTS)

judgement: deps ## replays histories of feeds, and measures what the publisher announces of them
	swift build --product newswire $(QUIET)
	@$(RUN_JUDGEMENT)

# Without browsers that can be installed it prints that, and succeeds.
test-browser: deps oracles ## runs the pages in Firefox and Chromium; screenshots in .build/screenshots
	@[ -n "$$NEWSWIRE_BINARY" ] || swift build --product newswire $(QUIET) || exit; \
	program="$${NEWSWIRE_BINARY:-.build/debug/newswire}"; \
	python=python3; [ ! -x $(ORACLES)/bin/python ] || python=$(ORACLES)/bin/python; \
	.ci/browser/install $(BROWSERS) "$$python" || { status=$$?; [ $$status != 75 ] || exit 0; exit $$status; }; \
	axe=$(BROWSERS)/axe/axe_playwright_python/axe.min.js; [ ! -f $$axe ] || set -- --axe $$axe; \
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Browser/run.py "$$program" "$$@" --rounds $(ROUNDS) --tries $(TRIES)

# Without a browser that can be installed it prints that, and succeeds.
screenshots: deps oracles ## takes the pictures in docs/images from the demo
	@swift build --product newswire $(QUIET) || exit; \
	python=python3; [ ! -x $(ORACLES)/bin/python ] || python=$(ORACLES)/bin/python; \
	.ci/browser/install $(BROWSERS) "$$python" || { status=$$?; [ $$status != 75 ] || exit 0; exit $$status; }; \
	PYTHONDONTWRITEBYTECODE=1 python3 Tests/Browser/pictures.py .build/debug/newswire docs/images

test-packaging: deps ## checks what is shipped; tests whose tools are missing are skipped with a notice
	@mkdir -p .build
	@$(call PYPI,packaging,$(CHECKERS))
	@python=python3; [ ! -x $(CHECKERS)/bin/python ] || python=$(CHECKERS)/bin/python; \
	PYTHONDONTWRITEBYTECODE=1 BUILT=$(NEWSWIRE) $$python Tests/Packaging/run.py

# Tests that need a missing library are skipped.
oracles: ## installs the Python libraries that tests compare results with, in .build/oracles
	@mkdir -p .build
	@$(call PYPI,oracles,$(ORACLES))

build: program $(SHARE) ## writes .build/release/newswire, completions and manual pages

# 'packaging/strip' reads where the toolchain is.
program: deps
	@mkdir -p .build && swift -print-target-info >.build/toolchain.json
	@icu=; [ $(CONFIG) != release ] || [ -z "$(FILTER_ICU)" ] || icu="$$(packaging/icu-data)" || exit; mapfile -t icu <<<"$$icu"; \
	swift build --configuration $(CONFIG) --product newswire $(LINKING) $${icu:+"$${icu[@]}"}

$(SHARE): $(NEWSWIRE) packaging/share .ci/manual-pages.swift
	packaging/share $(NEWSWIRE) $@

# 'program' decides whether this is up to date.
$(NEWSWIRE): program ;

bench: build ## measures speed beside other servers; needs an otherwise idle machine
	Benchmarks/idle-publish.py $(NEWSWIRE)
	Benchmarks/fan-out.py $(NEWSWIRE)

fuzz: deps ## runs each reader on random documents, SECONDS=60 each; FUZZ="xml opml" chooses
	Fuzz/run $(SECONDS) $(FUZZ)

install: ## installs what 'make build' wrote below /usr/local; PREFIX and DESTDIR choose other places
	@BUILT=$(NEWSWIRE) SHARE=$(SHARE) PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install install

uninstall: ## removes what 'make install' has installed; settings and state stay
	@BUILT=$(NEWSWIRE) SHARE=$(SHARE) PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install uninstall

deb: build ## writes .build/newswire_VERSION_ARCH.deb
	@BUILT=$(NEWSWIRE) SHARE=$(SHARE) packaging/deb/build

# PACKAGE=FILE.deb, with DISTRIBUTION=CODENAME, is one of packaging/deb/build-in.
test-deb: $(if $(PACKAGE),,build) ## installs, upgrades, removes and purges the package in a chroot and in a booted system; PREVIOUS, PACKAGE=FILE.deb
	@package='$(PACKAGE)'; [ -n "$$package" ] || package="$$(BUILT=$(NEWSWIRE) SHARE=$(SHARE) packaging/deb/build)" || exit; \
	set -- "$$package" $(if $(DISTRIBUTION),--distribution '$(DISTRIBUTION)'); export PYTHONDONTWRITEBYTECODE=1; \
	Tests/Packaging/debian.py "$$@" $(if $(PREVIOUS),--previous '$(PREVIOUS)') && Tests/Packaging/booted.py "$$@"

# Builds for itself, in chroots.
repository: ## writes a signed apt repository to .build/repository; SIGNING_KEY, REPOSITORY_URL
	@packaging/repository

image: build ## writes container images to .build/image: an OCI archive, and one for 'docker load'
	@BUILT=$(NEWSWIRE) packaging/image

# WHAT=shipped: package, licences, bill of materials and images alone, from the program that is there.
WHAT ?= program
reproduce: $(if $(filter shipped,$(WHAT)),build) ## builds this commit twice in different folders, and says what differs; WHAT=shipped takes minutes
	@BUILT=$(NEWSWIRE) SHARE=$(SHARE) packaging/reproduce $(WHAT)

release: build ## writes package, archive and checksums to .build/release-VERSION, and prints the tag
	@BUILT=$(NEWSWIRE) SHARE=$(SHARE) packaging/release

lint: deps ## checks code style, imports, links, wording and the systemd units
	swift format lint --strict --recursive Sources Tests Fuzz Package.swift $(SCRIPTS)
	@mkdir -p .build/lint
	swiftc -swift-version 6 -o .build/lint/check-imports .ci/check-imports.swift
	swift package dump-package | .build/lint/check-imports Sources
	.ci/check-links.py
	.ci/check-wording.py
	.ci/check-migrations.py
	.ci/check-units systemd

format: ## rewrites the code in the project's style
	swift format --in-place --recursive Sources Tests Fuzz Package.swift $(SCRIPTS)

# Installs what the build and the tests need besides a Swift toolchain, or prints the command that does.
deps:
	@command -v swift >/dev/null || { \
	  echo "newswire needs Swift 6.2 or later: https://www.swift.org/install/linux" >&2; exit 69; }
	@$(RESOLVED) | cmp -s - Package.resolved || $(RESOLVED) >Package.resolved
	@missing=; \
	for program in pkg-config $(TEST_PROGRAMS); do command -v $$program >/dev/null || missing=1; done; \
	[ -n "$$missing" ] || pkg-config --exists $(PKGCONFIGS) || missing=1; \
	wanted=; for program in $(WANTED_PROGRAMS); do command -v $$program >/dev/null || wanted=1; done; \
	[ -z "$$missing$$wanted" ] && exit 0; \
	install="apt-get install --yes --no-install-recommends $(BUILD_PACKAGES) $(TEST_PROGRAMS) $(WANTED_PROGRAMS)"; \
	if ! command -v apt-get >/dev/null; then \
	  [ -n "$$missing" ] || exit 0; \
	  echo "newswire needs the development files of libcurl, libnats, nghttp2, SQLite, libsystemd, libxml2 and zlib, and pkg-config" >&2; \
	  [ -z "$(TEST_PROGRAMS)" ] || echo "its tests need $(TEST_PROGRAMS)" >&2; exit 69; \
	elif [ "$$(id -u)" = 0 ]; then \
	  export DEBIAN_FRONTEND=noninteractive; \
	  $$install >/dev/null || { apt-get update && $$install; } || [ -z "$$missing" ]; \
	elif sudo -n true 2>/dev/null; then \
	  sudo -n $$install >/dev/null || { sudo -n apt-get update && sudo -n $$install; } || [ -z "$$missing" ]; \
	elif [ -n "$$missing" ]; then \
	  echo "some libraries or programs are missing; please run:" >&2; echo "  sudo $$install" >&2; exit 69; \
	fi
