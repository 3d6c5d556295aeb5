//go:build postgres

package faults

// noTableCode is what the log says of a table that is gone. engine_sqlite_test.go is the other side.
const noTableCode = "storage_code=42P01"
