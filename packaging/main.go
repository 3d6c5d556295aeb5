// Command packaging makes a release of users-api from the commit that is checked out.
//
//	go run . DIRECTORY [SYSTEM]    archives, packages, a bill of materials and SHA256SUMS, in a directory that it makes,
//	                               for all systems or for one such as linux_amd64
//	go run . licenses              writes ../commands/licenses.gz, which the program prints
//
// The same commit and the same Go make the same files, byte for byte, in any directory.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

func main() {
	err := errors.New("say where the release goes: go run . DIRECTORY [SYSTEM]")
	switch {
	case len(os.Args) == 2 && os.Args[1] == "licenses":
		err = writeLicenses("../commands/licenses.gz")
	case len(os.Args) == 2:
		err = makeRelease(os.Args[1], targets)
	case len(os.Args) == 3:
		one := slices.IndexFunc(targets, func(t target) bool { return t.String() == os.Args[2] })
		if err = fmt.Errorf("a release is for one of %v, and not for %q", targets, os.Args[2]); one >= 0 {
			err = makeRelease(os.Args[1], targets[one:one+1])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}
