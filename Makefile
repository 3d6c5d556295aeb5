# The checks of CONTRIBUTING.md under short names. `make check` is the gate.
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.6.0
.PHONY: test race lint postgres browser containers bench check
test:       ; go test ./...
race:       ; go test -race -short ./...
lint:       ; $(GOLANGCI) run ./... && $(GOLANGCI) run --build-tags browser,containers,postgres,strace,wine ./tests/... ./models/postgres ./commands
postgres:   ; go test -tags postgres ./models/postgres ./commands ./tests/...
browser:    ; go test -tags browser ./tests/browser
containers: ; go test -tags containers ./tests/containers
bench:      ; cd bench && go run .
check:      ; bash .ci/run
