package main

import (
	"compress/gzip"
	"io"
	"os"
	"testing"
)

func TestTheProgramPrintsTheLicensesOfWhatItContains(t *testing.T) {
	file, err := os.Open("../commands/licenses.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	uncompressed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := io.ReadAll(uncompressed)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := licenses(); err != nil || string(printed) != want {
		t.Errorf("commands/licenses.gz has %d bytes of text, and not %d (%v); run make licenses", len(printed), len(want), err)
	}
}
