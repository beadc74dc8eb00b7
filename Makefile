# coroner: what people run is build, test and demo; the rest is what those use.
GO      ?= go
FUZZ    ?= 3s

# Without libsystemd's headers the journal reader is left out, and said to be.
ifeq ($(wildcard /usr/include/systemd/sd-journal.h),)
JOURNAL := nojournal
$(info libsystemd-dev is not installed: built and tested without the journal reader)
endif

# Lint, tests and programs have the same flags, so that the libraries are compiled once for
# all of them. Programs are built without cgo where that can be, and then look up names of
# hosts and users in Go's own code; with these tags the libraries do with cgo, too, and are
# the same. Without DWARF a test links in half the time.
ifeq ($(shell uname -s),Linux)
TAGS := netgo osusergo
endif
comma := ,
empty :=
export GOFLAGS += -trimpath -ldflags=-w -tags=$(subst $(empty) $(empty),$(comma),$(strip $(TAGS) $(JOURNAL)))

.PHONY: build sim sim-bugs test test-all demo catalogue lint unit checked verdicts reference site screenshot race incidents postgres fuzz bench benchstat callgrind e2e e2e-ha e2e-kube soak chart manifests images release clean

build: bin/coroner bin/kubectl-coroner bin/coroner-agent

bin/coroner: FORCE
	CGO_ENABLED=0 $(GO) build -ldflags='-s -w' -o $@ ./cmd/coroner

# kubectl finds its plugins by name: with bin in the PATH, kubectl coroner NAME.
bin/kubectl-coroner: bin/coroner
	ln -sf coroner $@

# The agent reads the journal through libsystemd (package libsystemd-dev): it
# takes Linux, cgo and a C compiler. Elsewhere it is built without a journal. It looks
# names up as its host does.
bin/coroner-agent: FORCE
	$(GO) build -tags=$(JOURNAL) -ldflags='-s -w' -o $@ ./cmd/coroner-agent

.PHONY: FORCE
FORCE:

# The incidents that coroner ships with, explained end to end. What is built is counted:
# the first time the libraries are, too.
demo:
	@echo "make demo: building bin/coroner; the first build takes two to four minutes, later ones some seconds"
	@{ CGO_ENABLED=0 $(GO) build -v -ldflags='-s -w' -o bin/coroner ./cmd/coroner 2>&1 || echo "make demo: failed"; } | awk ' \
	  /^make demo: failed$$/ { failed = 1; next } \
	  /^[A-Za-z0-9._~\/-]+$$/ { if (++n % 50 == 0) { print "  built " n " packages of about 1000"; fflush() } next } \
	  { print; fflush() } \
	  END { exit failed }'
	@bin/coroner demo

# Everything that a change must keep, in under ten minutes on two processors. Each step
# says when it begins and how long it took.
test:
	@$(call step,1 of 3,lint: gofmt vet and staticcheck,lint)
	@$(call step,2 of 3,tests of every package; the first run compiles the libraries,unit)
	@$(call step,3 of 3,build; the rulebook checked and the programs abused,checked)
	@echo "make test: all passed"

# The long rest: the race detector, fuzzing (whose seeds make test runs, too), the real parts.
test-all:
	@$(call step,1 of 4,tests with the race detector,race)
	@$(call step,2 of 4,every incident in every wrapping and among all hostile lines,incidents)
	@$(call step,3 of 4,every parser fuzzed for $(FUZZ),fuzz)
	@$(call step,4 of 4,the real parts,e2e)
	@echo "make test-all: all passed"

# Every incident as people hand it on, quoted, numbered, broken into short lines, and among all
# lines that somebody can have written to deceive, or to flood: make test takes a sample.
incidents:
	CORONER_INCIDENTS=all $(GO) test -count=1 -vet=off -run 'TestIncidentsInAnyWrapping|TestGateHostile|TestFloodOfANode' \
	  ./classify ./classify/docket

# The docket's tests over PostgreSQL with every incident, before a release: make test takes a sample.
postgres:
	CORONER_POSTGRES=all $(GO) test -count=1 -timeout 30m -run TestOverPostgres ./classify/docket

# $(call step,COUNT,WHAT,TARGETS) runs targets and says what, and how long it took.
step = echo "[$(1)] $(2)"; begin=$$(date +%s); $(MAKE) --no-print-directory $(3) && echo "[$(1)] passed in $$(($$(date +%s) - begin)) s"

# The share of lists of message templates that the rulebook knows: make catalogue FILE=list.tsv
# (version, file, kind, level and template, divided by tabs).
catalogue: bin/coroner
	bin/coroner rules catalogue $(FILE)

lint:
	@fmt=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$fmt" ] || { echo "gofmt would change:"; echo "$$fmt"; exit 1; }
	@$(GO) vet ./...
	@CGO_ENABLED=0 $(GO) vet ./...
	@$(GO) tool staticcheck ./...

# Without vet, which lint runs whole, and without the abuses, which are for the built programs.
unit: # no test takes long, but a busy machine may
	@$(GO) test -vet=off -timeout 20m -skip '^TestAbuses' ./...

checked: build
	bin/coroner rules check
	CORONER_BIN=$(CURDIR)/bin $(GO) test -vet=off -count=1 -run '^TestAbuses' ./cmd/coroner

# The race detector finds nothing where one goroutine does all: it has those packages whose
# code or tests start another, or a server. The simulator is one thread's, and the end-to-end
# tests run programs.
RACED = $(shell grep -rlE '^[^/]*\bgo [a-z][A-Za-z.]*\(.*\)|\.Go\(.*\)|NewServer|AfterFunc' --include='*.go' . \
  | xargs -n1 dirname | sort -u | grep -vxE './fixtures/(sim|e2e|kube)')
race:
	@$(GO) test -vet=off -race -timeout 40m $(RACED)

# Every fuzz target for a while: make fuzz FUZZ=5m for longer. A package's tests are built
# once for all its targets. Go's fuzzer can end a run whose last input was still under way
# with nothing but "context deadline exceeded"; such a run is done once more.
#
# The fuzzer is guided by the coverage of all libraries, which are compiled once more for it.
# Where those are databases and servers that no target reaches, coroner's own code guides it,
# and that which reads YAML.
OWN_FUZZ := ./classify/ledger ./classify/mcp ./cmd/daemon
OWN      := -gcflags=coroner/...=-d=libfuzzer -gcflags=go.yaml.in/...=-d=libfuzzer
fuzz:
	@set -e; dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; cache=$$($(GO) env GOCACHE)/fuzz/coroner; \
	for pkg in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
	  case " $(OWN_FUZZ) " in *" $$pkg "*) guide="$(OWN)";; *) guide=-fuzz=.;; esac; \
	  $(GO) test -c -vet=off $$guide -o $$dir/fuzzed $$pkg; \
	  for target in $$($$dir/fuzzed -test.list '^Fuzz' | grep '^Fuzz'); do \
	    run="$$dir/fuzzed -test.run ^$$ -test.fuzz ^$$target$$ -test.fuzztime $(FUZZ) -test.fuzzminimizetime 1s -test.fuzzcachedir $$cache/$${pkg#./}"; \
	    out=$$(cd $$pkg && $$run 2>&1) || case "$$out" in \
	      *"Failing input"*) echo "$$out"; exit 1;; \
	      *"context deadline exceeded"*) out=$$(cd $$pkg && $$run 2>&1) || { echo "$$out"; exit 1; };; \
	      *) echo "$$out"; exit 1;; esac; \
	    echo "fuzz $${pkg#./} $$target: $$(echo "$$out" | grep '^fuzz: ' | tail -n 1 | sed 's/.*execs: //')"; \
	  done; done

# The real parts: journald, the kernel's OOM killer, Loki, Prometheus, Alertmanager, a
# browser. As root on Linux with systemd, prometheus, prometheus-alertmanager, chromium,
# qemu-system-x86, cpio, busybox-static and libsystemd-dev installed; CORONER_VMLINUZ names
# a guest's kernel. Loki is built once, which
# takes some minutes, and kept in CACHE.
CACHE ?= $(HOME)/.cache/coroner
LOKI  := $(CACHE)/loki-3.7.8

$(LOKI):
	mkdir -p $(CACHE)
	cd fixtures/e2e/loki && $(GO) build -o $@ github.com/grafana/loki/v3/cmd/loki

bin/loki: $(LOKI) FORCE
	ln -sf $(LOKI) $@

# axe-core looks for what keeps people from using the pages. Where npm cannot fetch it, the
# test says that this was not shown; with CORONER_AXE=required it fails.
AXE     := axe-core-4.14.1
AXE_SUM := 29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c

$(CACHE)/$(AXE).min.js:
	@mkdir -p $(CACHE); set -e; t=$$(mktemp -d); trap 'rm -rf $$t' EXIT; cd $$t; \
	npm pack --silent axe-core@$(AXE:axe-core-%=%) >/dev/null && tar xzf $(AXE).tgz package/axe.min.js && \
	  echo "$(AXE_SUM)  package/axe.min.js" | sha256sum -c --quiet && mv package/axe.min.js $@

bin/axe.min.js: FORCE
	@mkdir -p bin; $(MAKE) --no-print-directory $(CACHE)/$(AXE).min.js && ln -sf $(CACHE)/$(AXE).min.js $@ || \
	  { rm -f $@; echo "axe-core could not be fetched: what it finds is not shown"; }

e2e: build bin/loki bin/axe.min.js
	CORONER_E2E=$(CURDIR)/bin $(GO) test -count=1 -timeout 30m -v ./fixtures/e2e

# Three servers on a PostgreSQL with a synchronous standby: servers are killed and cut off, the
# primary is killed and the standby takes over, in each round. It prints how long after the
# last evidence the verdicts were there (p50, p99), and how long after a promotion the servers
# were ready. make e2e plays one round, with fewer deaths.
ROUNDS ?= 20
DEATHS ?= 500

e2e-ha: build bin/loki
	CORONER_E2E=$(CURDIR)/bin CORONER_ROUNDS=$(ROUNDS) CORONER_DEATHS=$(DEATHS) \
	  $(GO) test -count=1 -timeout 120m -v -run TestServersAndDatabasesThatDie ./fixtures/e2e

# Worlds in which runners die while everything fails: make sim WORLDS=100000 for hours; make
# test plays some hundred. What breaks a world is printed as the steps that lead to it.
WORLDS ?= 20000
sim:
	$(GO) test -count=1 -timeout 0 -v ./fixtures/sim -run TestWorlds -rapid.checks=$(WORLDS) -rapid.seed=0

# Whether the worlds find what they are there to find: some forty bugs, each within a minute of
# the processor's time. BUGS names some of them: make sim-bugs BUGS=spool
BUGS ?= .
sim-bugs:
	CORONER_SIM_BUGS=1 $(GO) test -count=1 -timeout 180m -v ./fixtures/sim -run 'TestBugsAreFound/$(BUGS)'

# What is generated in docs/: a page for each label; flags and metrics.
verdicts:
	$(GO) run ./cmd/coroner rules docs --incidents ../../fixtures/incidents docs/verdicts

# The documentation as web pages, for any web server; a coroner server shows them under /docs/.
site:
	$(GO) run ./cmd/coroner docs dist/site

reference:
	$(GO) test -vet=off ./cmd/coroner ./cmd/coroner-agent -run '^Test(Reference|Shown)$$' -count=1 -reference

# The picture in the README: the demo's post-mortem in a real browser.
screenshot: build
	CORONER_E2E=$(CURDIR)/bin CORONER_SCREENSHOT=$(CURDIR)/docs/page.png $(GO) test -count=1 -run 'TestPages/permalink' ./fixtures/e2e

HELM  := $(CACHE)/helm-3.22.0
# Rendering asks for a Kubernetes version; Helm's own build sets it like this.
K8S   := -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=34 \
         -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=34

$(HELM):
	mkdir -p $(CACHE)
	cd deploy/helm && $(GO) build -ldflags='-s -w $(K8S)' -o $@ helm.sh/helm/v3/cmd/helm

bin/helm: $(HELM) FORCE
	mkdir -p bin && ln -sf $(HELM) $@

# What the chart renders, and that the programs know what it passes.
chart: build bin/helm
	CORONER_HELM=$(CURDIR)/bin/helm CORONER_BIN=$(CURDIR)/bin $(GO) test -count=1 ./deploy

# The plain manifests: the chart's defaults.
manifests: bin/helm
	bin/helm template coroner deploy/chart/coroner --namespace coroner > deploy/manifests/coroner.yaml

# The version stands in the chart; the programs, the images and the release have it from there.
VERSION := $(shell sed -n 's/^appVersion: *//p' deploy/chart/coroner/Chart.yaml)

# Both images and what is in them, into dist/. As root the tests also run them.
IMAGE_TAG ?= $(VERSION)
images: build
	$(GO) run ./deploy/image -tag $(IMAGE_TAG)
	CORONER_BIN=$(CURDIR)/bin $(GO) test -count=1 ./deploy/image

# Everything that a release consists of, into dist/: the programs for each platform, the
# images (for this machine's processor), the chart, the sources, a manifest for krew, what
# is in each (SPDX), and checksums. OWNER is whose the project is on GitHub; elsewhere
# RELEASE_URL is the folder that it will be downloaded from and RELEASE_HOME its page.
# Without either nothing is built. The agent for the other processor takes Debian's gcc-aarch64-linux-gnu (or
# gcc-x86-64-linux-gnu); without it that archive is left out, and said to be.
OWNER        ?=
RELEASE_URL  ?=
RELEASE_HOME ?=
RELEASE      := $(GO) run ./deploy/release -owner '$(OWNER)' -url '$(RELEASE_URL)' -homepage '$(RELEASE_HOME)'
release:
	@$(RELEASE) -check
	$(MAKE) bin/helm
	rm -rf dist
	$(MAKE) images
	bin/helm package deploy/chart/coroner --destination dist
	git archive --format=tar.gz --prefix=coroner-$(VERSION)/ --output=dist/coroner_$(VERSION)_source.tar.gz HEAD
	$(RELEASE)

# The real actions-runner-controller and its listener, with their charts: built once, which
# takes two minutes, and kept in CACHE. The charts want the version that they are of.
ARC  := $(CACHE)/arc-0.6.1
ARCM := github.com/actions/actions-runner-controller

$(ARC):
	rm -rf $@.new && mkdir -p $@.new
	cd fixtures/kube/arc && export CGO_ENABLED=0 && flags='-s -w -X $(ARCM)/build.Version=0.6.1' && \
	  $(GO) build -ldflags="$$flags" -o $@.new/manager $(ARCM) && \
	  $(GO) build -ldflags="$$flags" -o $@.new/github-runnerscaleset-listener \
	    $(ARCM)/cmd/githubrunnerscalesetlistener && \
	  cp -r --no-preserve=mode $$($(GO) list -m -f '{{.Dir}}' $(ARCM))/charts $@.new/charts
	mv $@.new $@

# Deaths on the cluster that KUBECONFIG names, with the chart and the images, and what goes
# wrong with pools of the real actions-runner-controller; takes a quarter of an hour and
# kubectl. CORONER_KUBE_POOLS names some of the pools, CORONER_KUBE_LOAD loads an archive of images into the nodes
# (default: ctr -n k8s.io images import); CORONER_KUBE_STOP and CORONER_KUBE_START stop
# and start kubelet or containerd where the node is this machine (default: systemctl
# stop, start). CORONER_KUBE_KEEP=DIR keeps every case as a file for coroner explain.
# CORONER_KUBE_DEATHS is an expression of the names of those deaths that are to be shown.
# CORONER_KUBE_CHURN=30m has the pools that are well do ordinary work for so long at least.
e2e-kube: images bin/helm bin/kubectl-coroner $(ARC)
	CORONER_KUBE=$(CURDIR)/bin CORONER_KUBE_IMAGES=$(CURDIR)/dist CORONER_KUBE_ARC=$(ARC) \
	  $(GO) test -count=1 -timeout 120m -v ./fixtures/kube

# SOAK=1m for a short one.
SOAK ?= 10m
soak: build bin/loki
	CORONER_E2E=$(CURDIR)/bin CORONER_SOAK=$(SOAK) $(GO) test -count=1 -timeout 30m -v -run Soak ./fixtures/e2e

# The tables: each of coroner's readers beside the programs that people use today
# (ripgrep, mtail, journalctl, cat, where they are installed), and the server's growth.
# make performance is that without the benchmarks of single functions, and writes the
# figures into docs/performance.md. All of it takes an hour or two; CORONER_BENCH=quick
# leaves out the largest sizes.
# CORONER_BENCH_DATA keeps the generated logs, CORONER_BENCH_JOURNAL the journal.
CORONER_BENCH ?= 1
BENCH_ENTRIES ?= 200000
MEASURED      ?= ./rules/signal ./cmd/coroner-agent ./classify/ledger ./classify/docket ./ingest/kubewatch
bench:
	$(GO) test ./... -run '^$$' -bench . -benchmem
	$(MAKE) --no-print-directory performance

# docs/performance.md: what the benchmarks note, with ✓ and ✗ at its bars.
.PHONY: performance
performance: export CORONER_BENCH_FIGURES := $(CURDIR)/bin/figures.json
performance:
	@mkdir -p bin; rm -f $(CORONER_BENCH_FIGURES)
	CORONER_BENCH_ENTRIES=$(BENCH_ENTRIES) $(GO) test ./ingest/journal -run '^$$' -bench Node -benchtime 1x -timeout 120m
	CORONER_BENCH=$(CORONER_BENCH) $(GO) test $(MEASURED) -run '^TestBench' -v -count=1 -p 1 -timeout 120m
	$(GO) test ./fixtures/bench -run '^TestPerformancePage$$' -count=1 -performance $(CORONER_BENCH_FIGURES)

# The benchmarks as they are beside those at BASE, in turn, and what benchstat makes of the
# two: make benchstat BASE=v1.2.0 BENCH=ScanBuffer PKGS=./rules/signal
BASE      ?= HEAD
BENCH     ?= .
PKGS      ?= ./rules/signal ./classify ./ingest ./ingest/podlog
ROUNDS    ?= 6
BENCHSTAT ?= $(GO) run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
benchstat:
	@set -e; mkdir -p bin; rm -rf bin/base bin/base.txt bin/head.txt; git worktree prune; \
	git worktree add -f --detach bin/base $(BASE); trap 'git worktree remove --force bin/base' EXIT; \
	for round in $$(seq $(ROUNDS)); do echo "round $$round of $(ROUNDS)"; \
	  (cd bin/base && $(GO) test $(PKGS) -run '^$$' -bench '$(BENCH)' -benchmem) >> bin/base.txt; \
	  $(GO) test $(PKGS) -run '^$$' -bench '$(BENCH)' -benchmem >> bin/head.txt; \
	done; $(BENCHSTAT) bin/base.txt bin/head.txt

# The hot loops' instructions, which do not depend on the machine: more than a tenth above
# the number in its test fails.
callgrind:
	CORONER_CALLGRIND=1 $(GO) test ./rules/signal ./ingest/podlog -run HotLoop -count=1 -p 1 -v

clean:
	rm -rf bin dist
