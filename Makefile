# Everything that a developer runs; `make` alone lists it.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)

# The linters are pinned here and nowhere else, so that a new release of one cannot
# turn an unchanged tree red. They are no dependencies of the product.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# How long each fuzz target runs under `make fuzz`.
FUZZTIME ?= 5s

.PHONY: help demo test build lint fuzz bench docs clean needs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: needs build ## judge the example shop: verified, failed, and two refusals
	@scripts/demo bin/gate

test: needs ## run every test; installs what they need
	go test ./...

# Twice: the full program is carried inside the lean one, which starts faster
# (see package carry). A plain `go build` gives the full program alone.
build: ## build bin/gate
	go build -trimpath -ldflags '$(LDFLAGS)' -o cmd/gate/full/gate ./cmd/gate
	go build -trimpath -tags lean -ldflags '$(LDFLAGS)' -o bin/gate ./cmd/gate

lint: build ## gofmt, go vet, staticcheck, actionlint
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [[ -n $$unformatted ]]; then echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...
	go run $(STATICCHECK) -tags lean ./cmd/gate ./checks
	go run $(ACTIONLINT)

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
