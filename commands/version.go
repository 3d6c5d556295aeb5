package commands

import (
	"cmp"
	"runtime/debug"
)

// Set by the linker in a release build: see the Dockerfile.
var version, revision string

type build struct{ Version, Revision string }

// String is what --version prints.
func (b build) String() string { return b.Version + " (" + b.Revision + ")" }

// readBuild returns what the linker has set, or else what Go recorded about the source tree.
func readBuild() build {
	is := build{version, revision}
	if info, known := debug.ReadBuildInfo(); known {
		if info.Main.Version != "(devel)" {
			is.Version = cmp.Or(is.Version, info.Main.Version)
		}
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				is.Revision = cmp.Or(is.Revision, setting.Value)
			}
		}
	}
	return build{cmp.Or(is.Version, "unreleased"), cmp.Or(is.Revision, "unknown")}
}
