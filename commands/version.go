package commands

import "runtime/debug"

// Set by the linker in a release build: see the Dockerfile.
var version, revision string

// build identifies this build of the program.
type build struct{ Version, Revision string }

// String is what --version prints.
func (b build) String() string { return b.Version + " (" + b.Revision + ")" }

// readBuild returns what the linker has set, or else what Go recorded about the source tree.
func readBuild() build {
	is := build{version, revision}
	info, known := debug.ReadBuildInfo()
	if is.Version == "" && known {
		is.Version = info.Main.Version
	}
	for i := 0; is.Revision == "" && known && i < len(info.Settings); i++ {
		if info.Settings[i].Key == "vcs.revision" {
			is.Revision = info.Settings[i].Value
		}
	}
	if is.Version == "" || is.Version == "(devel)" {
		is.Version = "unreleased"
	}
	if is.Revision == "" {
		is.Revision = "unknown"
	}
	return is
}
