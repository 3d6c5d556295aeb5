package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"users-api/config"
)

// withCompose says how a command is run where compose runs the service, whether it runs or not: `exec` needs a running one.
const withCompose = "With compose, write `docker compose run --rm -T users-api` for `users-api`."

// sameSignal is how long a second signal counts as the first. air, for example, sends one to the process and another to
// its process group, and requests in progress must survive both.
const sameSignal = time.Second

// Run executes the command line, and returns the exit code. A failure is reported in one line.
func Run(arguments []string) int {
	interrupted, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	// After sameSignal, another signal ends the program at once.
	context.AfterFunc(interrupted, func() { time.AfterFunc(sameSignal, cancel) })
	root := NewRoot()
	root.SetArgs(arguments)
	err := root.ExecuteContext(interrupted)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		err = errors.New("stopped by a signal, before it was done")
	case errors.Is(err, errLogged):
		return 1
	}
	fmt.Fprintln(os.Stderr, "users-api:", err)
	return 1
}

// NewRoot returns users-api with all its commands: Run executes it, and its man page is made from it.
func NewRoot() *cobra.Command {
	version, revision := readBuild()
	root := &cobra.Command{
		Use:     "users-api",
		Short:   "a registry of users as JSON over HTTP",
		Long:    about(),
		Version: version + " (" + revision + ")",
		Args:    helpful(cobra.NoArgs),
		RunE:    func(root *cobra.Command, _ []string) error { return Serve(root.Context()) },

		SilenceErrors: true, // Run prints them, on one line
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("users-api {{.Version}}\n")
	root.SetFlagErrorFunc(seeHelp)
	root.AddCommand(newHealthcheck(), newBackup(), newRestore(), newAddField(), newIgnoreEmailCase(),
		newChanges(), newIndexSearch(), newKey(), newLicenses())
	for _, command := range root.Commands() {
		command.Args = helpful(command.Args)
		command.DisableFlagsInUseLine = true // a command says its own, and all have --help
		if !strings.Contains(command.Long, "compose") {
			command.Long += "\n\n" + withCompose
		}
	}
	return root
}

func about() string {
	text := `users-api serves a registry of users as JSON over HTTP, from one SQLite file or from PostgreSQL.
Without a command it serves until SIGTERM or SIGINT (Ctrl+C).
` + withCompose + `

Settings are environment variables:
`
	for _, setting := range config.Settings() {
		text += fmt.Sprintf("\n  %-15s  %s", setting.Name, setting.Meaning)
		if setting.Default != "" {
			text += " (" + setting.Default + ")"
		}
	}
	return text
}

// helpful lets what is wrong with the arguments of a command point to its help.
func helpful(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		if err := check(command, arguments); err != nil {
			return seeHelp(command, err)
		}
		return nil
	}
}

func seeHelp(command *cobra.Command, err error) error {
	return fmt.Errorf("%w; see `%s --help`", err, command.CommandPath())
}

// Set by the linker in a release build: see the Dockerfile.
var version, revision string

// readBuild returns both, as the linker has set them or else as Go recorded them about the source tree.
func readBuild() (string, string) {
	version, revision := version, revision
	if info, known := debug.ReadBuildInfo(); known {
		if info.Main.Version != "(devel)" {
			version = cmp.Or(version, info.Main.Version)
		}
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = cmp.Or(revision, setting.Value)
			}
		}
	}
	return cmp.Or(version, "unreleased"), cmp.Or(revision, "unknown")
}
