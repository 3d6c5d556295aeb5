// Command packaging makes a release of users-api from the commit that is checked out.
//
//	go run . DIRECTORY    archives, packages, a bill of materials and SHA256SUMS, in a directory that it makes
//	go run . licenses     writes ../commands/licenses.gz, which the program prints
//
// The same commit and the same Go make the same files, byte for byte, in any directory.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	err := errors.New("say where the release goes: go run . DIRECTORY")
	switch {
	case len(os.Args) == 2 && os.Args[1] == "licenses":
		err = writeLicenses("../commands/licenses.gz")
	case len(os.Args) == 2:
		err = makeRelease(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}
