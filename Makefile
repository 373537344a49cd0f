# The commands a newcomer types; `make help` lists them. Cargo knows what is up
# to date, so every target here is run anew and does nothing twice.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
# Installing comes before building, also under make -j.
.NOTPARALLEL:
.PHONY: help build quick check test test-long stress baseline fuzz demo results install uninstall check-deps deps-build deps-demo deps-lab deps-packages \
	deb rpm static oci sysext docs

# A fresh rustup toolchain is not on the path before the next login.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
export CARGO_TARGET_DIR := $(CURDIR)/target
# What .ci/run adds to every cargo that builds.
export CARGO_FLAGS

say = @printf '\n==> %s\n'

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

# By package: cargo gives the libraries of all that it builds together the features that any of them
# wants, and takt-fleet and takt-kubernetes want more than takt.
build: deps-build ## build target/release/takt, taktd, takt-lab with its model of caches, takt-sim, takt-dispatch and takt-fleet
	$(say) 'building target/release/takt, taktd, takt-lab, takt-sim, takt-dispatch and takt-fleet'
	cargo build $(CARGO_FLAGS) --release --package takt --bin takt --package takt-lab --bin takt-lab \
	    --package takt-sim --bin takt-sim --package takt-dispatch --bin takt-dispatch
	cargo build $(CARGO_FLAGS) --release --package takt-fleet
	cargo build $(CARGO_FLAGS) --release --package takt-caches-plugin
	ln -sf takt target/release/taktd

# What `make build` makes is made once more here: tests need more features of some libraries.
test: deps-lab ## install what is missing, build, and run every test
	@scripts/test all

quick: deps-lab ## in a few minutes, the tests that tell most about what changed since upstream (BASE: a commit)
	@scripts/test quick $(if $(BASE),--base $(BASE))

check: deps-build ## format, lints, and every test that needs no virtual machine
	@scripts/test check

# FRESH=1 begins anew.
FRESH ?=

test-long: deps-lab ## run every case in full, for hours; called again, it goes on where it stopped (FRESH=1: anew)
	@scripts/test long $(if $(FRESH),--fresh)

ROUNDS ?= 5

stress: deps-lab ## run the laboratory on a busy host, five times (ROUNDS), and show verdicts and figures that differ
	@scripts/test stress --rounds $(ROUNDS)

baseline: ## make what the laboratory took in the last make test what later ones are compared with
	@scripts/test baseline

# Seconds for each target.
FUZZ ?= 3600

fuzz: deps-build ## search for inputs that takt does not stand, for hours (FUZZ=60: a minute for each parser)
	@scripts/fuzz $(FUZZ)

demo: deps-demo build ## install what is missing, build, and compare schedulers in the laboratory
	$(say) 'running the short tour of all experiments: takt lab run tour'
	target/release/takt lab run tour

results: deps-lab build ## measure every figure of the docs anew, three times (RUNS=1: once); takes hours
	@scripts/results

# The place of what is installed; packagers set DESTDIR.
PREFIX ?= /usr/local
export PREFIX DESTDIR

install: target/release/takt ## install takt, taktd, takt-sim, takt-dispatch, takt-fleet, takt-lab, manual pages, completions, units and the C header (PREFIX, DESTDIR)
	@scripts/install $<

uninstall: target/release/takt ## remove what make install put there
	@scripts/install --remove $<

# Of packages: amd64 or arm64, this machine's by default.
export ARCH VERSION

deb: deps-packages ## make takt_*.deb (ARCH=arm64: for that; VERSION)
	@packaging/deb/build

rpm: deps-packages ## make takt-*.rpm (ARCH, VERSION)
	@packaging/rpm/build

static: deps-packages ## build target/static/takt, which needs no libraries
	@packaging/static/build

oci: deps-packages ## make target/takt-oci.tar, an image with nothing but takt
	@packaging/oci/build

sysext: deps-packages ## make target/takt.raw, for systemd-sysext
	@packaging/sysext/build

docs: deps-build ## build the documentation's site, target/book
	@scripts/docs

# Whoever installs as root need not build as root.
target/release/takt:
	@$(MAKE) build

check-deps: ## say what is missing, install nothing
	@scripts/deps --check lab

deps-build:
	@scripts/deps build

deps-demo:
	@scripts/deps demo

deps-lab:
	@scripts/deps lab

deps-packages:
	@scripts/deps packages $(filter arm64,$(ARCH))
