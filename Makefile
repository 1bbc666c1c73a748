# The few commands of this project. `make help` lists them.

SHELL := /bin/bash
PACKAGES := libcurl4-openssl-dev libsqlite3-dev libxml2-dev pkg-config
PKGCONFIGS := libcurl sqlite3 libxml-2.0

.DEFAULT_GOAL := help
.PHONY: help demo test test-long build lint format deps

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# Not optimized: a newcomer sees it in a third of the time, and `make test` goes on from this build.
demo: deps ## the whole pipeline on a scratch directory: hub, publisher, two agents
	swift build --product newswire
	@.build/debug/newswire demo --once

test: deps lint ## every check: style, imports, unit and end-to-end tests
	swift build --build-tests
	NEWSWIRE_BINARY="$$(swift build --show-bin-path)/newswire" swift test --skip-build

test-long: deps ## the tests with the long runs of those that are random
	swift build --build-tests
	NEWSWIRE_LONG=1 NEWSWIRE_BINARY="$$(swift build --show-bin-path)/newswire" swift test --skip-build

build: deps ## .build/release/newswire
	swift build --configuration release --product newswire

lint: deps ## code style and the import rule
	swift format lint --strict --recursive Sources Tests Package.swift .ci/check-imports.swift
	@mkdir -p .build/lint
	swiftc -swift-version 6 -o .build/lint/check-imports .ci/check-imports.swift
	swift package dump-package | .build/lint/check-imports Sources

format: ## rewrites the code in the project's style
	swift format --in-place --recursive Sources Tests Package.swift .ci/check-imports.swift

# Everything that the build needs beyond a Swift toolchain. Installs it where that is allowed, else says what to run.
deps:
	@command -v swift >/dev/null || { \
	  echo "newswire needs Swift 6.2 or later: https://www.swift.org/install/linux" >&2; exit 69; }
	@missing=; \
	command -v pkg-config >/dev/null || missing=1; \
	[ -n "$$missing" ] || pkg-config --exists $(PKGCONFIGS) || missing=1; \
	[ -z "$$missing" ] && exit 0; \
	install="apt-get install --yes --no-install-recommends $(PACKAGES)"; \
	if ! command -v apt-get >/dev/null; then \
	  echo "newswire needs the development files of libcurl, SQLite and libxml2, and pkg-config" >&2; exit 69; \
	elif [ "$$(id -u)" = 0 ]; then \
	  export DEBIAN_FRONTEND=noninteractive; \
	  $$install >/dev/null || { apt-get update && $$install; }; \
	elif sudo -n true 2>/dev/null; then \
	  sudo -n $$install >/dev/null || { sudo -n apt-get update && sudo -n $$install; }; \
	else \
	  echo "some libraries are missing; please run:" >&2; echo "  sudo $$install" >&2; exit 69; \
	fi
