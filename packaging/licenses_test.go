package main

import (
	"os/exec"
	"testing"
)

func TestTheProgramPrintsTheLicensesOfWhatItContains(t *testing.T) {
	printed, err := exec.Command("gzip", "--decompress", "--stdout", "../commands/licenses.gz").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want, err := licenses(); err != nil || string(printed) != want {
		t.Errorf("commands/licenses.gz has %d bytes of text, and not %d (%v); run make licenses", len(printed), len(want), err)
	}
}
