# The checks of CONTRIBUTING.md under short names. `make` lists them; `make check` is the gate, and `make everything` all.
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.6.0
.PHONY: help test race lint postgres browser containers bench image release licenses check everything
help:       ; @sed -n '/^help/!s/^\([a-z]*\):\( *\);/make \1\2/p' Makefile
test:       ; go test -tags nomsgpack ./...
race:       ; go test -race -short -tags nomsgpack ./...
lint:       ; $(GOLANGCI) run ./... && $(GOLANGCI) run --build-tags nomsgpack,browser,containers,postgres,proxies,release,strace,systemd,wine ./tests/... ./database/... && cd packaging && $(GOLANGCI) run ./...
postgres:   ; go test -tags postgres ./database ./tests/...
browser:    ; go test -tags browser ./tests/browser
containers: ; go test -tags containers ./tests/containers
bench:      ; cd bench && go run .
image:      ; docker build --build-arg VERSION=$$(.ci/version) --build-arg REVISION=$$(git rev-parse HEAD) --tag users-api .
release:    ; cd packaging && go run . ../dist
licenses:   ; cd packaging && go run . licenses
check:      ; .ci/run
everything: ; .ci/run all
