# Every task of this project by one word. The work itself is in make/, bench/ and image/, small scripts that can be
# read and run alone.

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo

.PHONY: all build dist drivers packages-tried reproducible test bench fuzz docs site transcripts planted pages noticing churn strangers stories quiet-hour faults store agents image install coverage mutants clean help

all: build ## the same as build

build: ## the programs as they are installed: target/dist/sonde and sonde-monitor
	make/dist --package sonde --package sonde-monitor

dist: ## what is handed out, in dist/: static program in an archive, deb, rpm, Python wheel, list of parts (CycloneDX), checksums; TARGET=triple for another machine
	make/archive

packages-tried: ## deb, rpm and wheel of dist/ installed in clean roots, used for rtt and serve, removed (minutes, as root, with network)
	make/packages-tried

drivers: ## programs of others that call netperf, iperf3, iperf, ping, fping and mtr, run over sonde under those names: the table of docs/drivers.md (minutes, with network; see make/drivers)
	make/drivers

reproducible: ## whether two builds of the last commit, in two folders, are the same octets (takes two builds)
	make/reproducible

test: ## everything that can be checked here; says at the end what was not
	make/test

bench: ## ours against plain C loops, in pairs (takes a while; wants a quiet machine)
	bench/run

fuzz: ## the decoders, FUZZ_RUNS inputs each
	make/fuzz

transcripts: ## netperf's and sockperf's transcripts as whole runs of ours and the original (twelve minutes)
	SONDE_TRANSCRIPTS=1 $(CARGO) test --locked --package sonde --test pairs transcripts

planted: ## causes and limits, planted on real paths: 20 runs of each case (two hours of a quiet machine, as root)
	SONDE_PLANTED=$(or $(PLANTED),20) $(CARGO) test --locked --package sonde --test network limits:: look:: programs:: why:: worlds:: -- --test-threads=1

pages: ## every command of the README and of the how-to pages, run against hosts made for it (two minutes, as root)
	$(CARGO) test --workspace --locked --test network -- --ignored --nocapture pages::

noticing: ## what the monitor notices, how soon and how often wrongly, in virtual time: the tables of docs/explain/noticing.md (an hour)
	$(CARGO) test --release --locked --package measure --test noticing -- --ignored --nocapture --test-threads=1

churn: ## 100,000 sessions that come and go, by an optimised build (a minute, once it is built)
	SONDE_CHURN=100000 $(CARGO) test --release --workspace --locked --test cli churn -- --nocapture

strangers: ## how much longer a session takes to open while a thousand strangers a second come (minutes of a quiet machine, as root)
	SONDE_STRANGERS=1 $(CARGO) test --release --workspace --locked --test network strangers::sessions -- --nocapture --test-threads=1

stories: build ## four things that happen to twenty hosts, told by every way of the monitor (twenty minutes of a quiet machine, as root)
	SONDE_STORIES=target/dist $(CARGO) test --workspace --locked --test stories -- --ignored --nocapture four_things

quiet-hour: build ## an hour in which nothing happens to twenty hosts: the monitor tells nothing (of a quiet machine, as root)
	SONDE_STORIES=target/dist $(CARGO) test --workspace --locked --test stories -- --ignored --nocapture a_quiet_hour

store: build ## a monitor's store of 1,000 hosts, filled in virtual time and measured (minutes; STORE= and OPTIONS= change it)
	target/dist/sonde-monitor generate --store $(or $(STORE),target/store.db) $(OPTIONS)

agents: ## a monitor with 1,000 agents that are played: processor, memory, page and /metrics (ten minutes of a quiet machine)
	$(CARGO) test --release --workspace --locked --test centre -- --ignored --nocapture --test-threads=1

faults: ## every program under every fault at either end, in the middle of a measurement (five minutes, as root)
	SONDE_FAULTS=all $(CARGO) test --workspace --locked --test network faults:: -- --nocapture

docs: ## writes what is generated: docs/reference, docs/warnings.md and the record's schema
	make/docs

site: ## the documentation as pages that open from files: target/site/index.html (needs mdbook)
	make/site

image: ## a static binary in an image from scratch
	image/build

install: build ## into PREFIX, with man pages, completions and the service
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' make/install

coverage: ## which lines the tests reach (needs cargo-llvm-cov)
	$(CARGO) llvm-cov --workspace --locked

mutants: ## which changes the tests of the science do not notice (needs cargo-mutants; takes hours)
	$(CARGO) mutants --package measure

clean: ## removes what was built
	$(CARGO) clean
	rm -rf bench/build dist fuzz/target image/out

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile
