package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
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
		Args:    noArguments,
		RunE:    func(root *cobra.Command, _ []string) error { return Serve(root.Context()) },

		SilenceErrors: true, // Run prints them, on one line
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
	}
	root.SetVersionTemplate("users-api {{.Version}}\n")
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error { return seeHelp(command, err.Error()) })
	root.AddCommand(newHealthcheck(), newBackup(), newRestore(), newAddField(), newIgnoreEmailCase(),
		newChanges(), newIndexSearch(), newKey(), newLicenses())
	for _, command := range root.Commands() {
		command.DisableFlagsInUseLine = true // a command says its own, and all have --help
		if !strings.Contains(command.Long, "compose") {
			command.Long += "\n\n" + withCompose
		}
	}
	return root
}

// about returns what the help says of users-api, with all settings.
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

// noArguments refuses arguments to a command that takes none. An argument to users-api itself is an unknown command.
func noArguments(command *cobra.Command, arguments []string) error {
	switch {
	case len(arguments) == 0:
		return nil
	case command.HasParent():
		return seeHelp(command, fmt.Sprintf("%s takes no arguments, and got %q", command.Name(), arguments))
	}
	problem := fmt.Sprintf("there is no command %q", arguments[0])
	if similar := command.SuggestionsFor(arguments[0]); len(similar) > 0 {
		problem += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return seeHelp(command, problem)
}

// seeHelp returns an error about the arguments of a command that points to the command's help.
func seeHelp(command *cobra.Command, problem string) error {
	return fmt.Errorf("%s; see `%s --help`", problem, command.CommandPath())
}

// needsOne checks that a command has one argument, and that it is one of some words, if there are any.
func needsOne(argument string, words ...string) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		if len(arguments) != 1 || arguments[0] == "" || len(words) > 0 && !slices.Contains(words, arguments[0]) {
			return seeHelp(command, fmt.Sprintf("%s needs one argument, %s, and got %q", command.Name(), argument, arguments))
		}
		return nil
	}
}

// needsSome checks that a command has arguments, none of which is empty.
func needsSome(argument string) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		if len(arguments) == 0 || slices.Contains(arguments, "") {
			return seeHelp(command, fmt.Sprintf("%s needs one argument, %s, or several, and got %q", command.Name(), argument, arguments))
		}
		return nil
	}
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
