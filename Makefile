# coroner: what people run is build, test and demo; the rest is what those use.
GO      ?= go
FUZZ    ?= 5s

.PHONY: build test demo lint unit race fuzz bench clean

build: bin/coroner

bin/coroner: FORCE
	CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./cmd/coroner

.PHONY: FORCE
FORCE:

# The incidents that coroner ships with, explained end to end.
demo: build
	bin/coroner demo

# Everything that must hold before a change lands.
test: lint race fuzz build
	bin/coroner rules check

lint:
	@fmt=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$fmt" ] || { echo "gofmt would change:"; echo "$$fmt"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

unit:
	$(GO) test ./...

race:
	$(GO) test -race ./...

# Every fuzz target for a short while; FUZZ=5m for longer.
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test $$pkg -list '^Fuzz' | grep '^Fuzz' || true); do \
	    echo "fuzz $$pkg $$target"; $(GO) test $$pkg -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) -fuzzminimizetime 1s; \
	  done; done

bench:
	$(GO) test ./... -run '^$$' -bench . -benchmem

clean:
	rm -rf bin
