# Everything that a developer runs; `make` alone lists it.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# What the program says of its sources. Whoever builds from an archive, where git
# knows nothing, gives both: make build VERSION=v1.2.3 COMMIT=<40 hex digits>. The
# abbreviation has a fixed length, or it would grow with the number of objects.
VERSION ?= $(shell git describe --tags --always --dirty --abbrev=12 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || true)
LDFLAGS := -s -w -buildid= -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# What is linked in beside the default: make build TAGS=kms takes keys of a KMS.
TAGS ?=

# make build STATIC=1 gives a program that needs no other file of the system, and
# that no library can be preloaded into: the images have it. Names are then looked
# up by Go alone, and SQLite loads no extensions, since both would load libraries.
ifdef STATIC
STATIC_TAGS := netgo osusergo sqlite_omit_load_extension
LDFLAGS += -linkmode external -extldflags -static
endif

# The same sources give the same bytes, wherever they lie (make reproducible): no
# path of this machine, no build id, and no stamp of git's, which a clone without
# tags, a shallow one and an archive would each have differently.
GOBUILD := go build -trimpath -buildvcs=false -mod=readonly -ldflags '$(LDFLAGS)'

# The linters are pinned here and nowhere else, so that a new release of one cannot
# turn an unchanged tree red. They are no dependencies of the product.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# How long each fuzz target runs under `make fuzz`.
FUZZTIME ?= 5s

.PHONY: help demo test test-packages test-signing test-actions test-artifacts build reproducible lint fuzz bench docs clean needs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: needs build ## judge the example shop: verified, failed, and two refusals
	@scripts/demo bin/gate

test: test-packages test-signing test-artifacts test-actions ## run every test; installs what they need

test-packages: needs ## the tests of the module's packages
	go test ./...
	go test -tags kms ./gate/seal/sigstore

# A module of its own: what it needs of Sigstore's servers is nothing that the gate needs.
test-signing: needs build ## signatures, against real Sigstore services and the cosign CLI
	scripts/signing-tools >/dev/null
	cd testdata/sigstore && GATE='$(CURDIR)/bin/gate' go test -count 1 $(TESTFLAGS) ./...

# A module of its own, like that of signing.
test-artifacts: needs ## uploads, against GitHub's own client and a blob store
	scripts/actions-tools >/dev/null
	cd testdata/artifacts && go test -count 1 $(TESTFLAGS) ./...

# A module of its own, too: GitHub is played by servers that the gate does not need.
# GATE_IMAGE names an image to be run in the program's place, as the runner would.
test-actions: needs build ## the Action, as GitHub's runner starts it, against a GitHub on this machine
	cd testdata/actions && GATE='$(CURDIR)/bin/gate' go test -count 1 -timeout 20m $(TESTFLAGS) ./...

# Twice: the full program is carried inside the lean one, which starts faster
# (see package carry). A plain `go build` gives the full program alone.
#
# The full one is copied at every start, so its size is time. grpcnotrace leaves out
# a web page of gRPC's, whose templates call methods by name: with them the linker
# must keep every method of every type, which is a quarter of the program.
build: ## build bin/gate; STATIC=1 without libraries of the system
	$(GOBUILD) -tags 'grpcnotrace $(STATIC_TAGS) $(TAGS)' -o cmd/gate/full/gate ./cmd/gate
	$(GOBUILD) -tags 'lean $(STATIC_TAGS) $(TAGS)' -o bin/gate ./cmd/gate

reproducible: needs ## build HEAD twice, in different places: the same bytes; PROGRAM=bin/gate compares that too
	@scripts/reproducible $(PROGRAM)

lint: build ## gofmt, go vet, staticcheck, actionlint
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [[ -n $$unformatted ]]; then echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...
	go run $(STATICCHECK) -tags lean ./cmd/gate ./checks
	cd testdata/sigstore && go vet ./... && go run $(STATICCHECK) ./...
	cd testdata/artifacts && go vet ./... && go run $(STATICCHECK) ./...
	cd testdata/actions && go vet ./... && go run $(STATICCHECK) ./...
	go run $(ACTIONLINT)
	go run $(ACTIONLINT) examples/github/*.yml examples/reusable-workflow/*.yml
	for contract in .gate/contracts/*.json; do bin/gate lint "$$contract"; done

fuzz: needs ## run every fuzz target for FUZZTIME (5s)
	@scripts/fuzz $(FUZZTIME)

bench: needs build ## measure against what you would use instead; FLAGS="-only startup"
	go run ./scripts/bench -gate bin/gate $(FLAGS)

docs: needs ## regenerate the generated pages under docs/ and the output in README.md
	go test ./gate -run '^TestHouse' -count 1 -update

clean: ## remove what make built
	rm -rf bin cmd/gate/full

needs:
	@scripts/install-needs
