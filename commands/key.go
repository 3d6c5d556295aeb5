package commands

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"users-api/config"
)

func newKey() *cobra.Command {
	return &cobra.Command{
		Use:   "key [NAME]",
		Short: "Print a new key, for API_KEY or API_READ_KEY",
		Long: `Prints a new random key of 26 characters, which cannot be guessed. It is stored nowhere.

  API_KEY=$(users-api key)                 for those who may do everything
  users-api key >> api_key                 a line of the file that API_KEY_FILE names

With a NAME, it prints a line for such a file with the name and the SHA-256 sum of the key, so that the file contains
no secret, and the key itself on stderr. A running service notices new lines. The log has the name at each request.

  users-api key hr-sync >> api_key         shows the key on the terminal, once
  users-api key hr-sync >> api_key 2> key  puts it into a file`,
		Args: aKeyName,
		Run: func(_ *cobra.Command, arguments []string) {
			key := rand.Text()
			if len(arguments) == 0 {
				fmt.Println(key)
				return
			}
			fmt.Println(config.KeyLine(arguments[0], key))
			fmt.Fprintln(os.Stderr, key)
		},
	}
}

// aKeyName checks the arguments of a command that takes the name of a key, or nothing.
func aKeyName(command *cobra.Command, arguments []string) error {
	if len(arguments) > 1 {
		return seeHelp(command, fmt.Sprintf("%s takes one argument, NAME, and got %q", command.Name(), arguments))
	}
	for _, name := range arguments {
		if err := config.CheckKeyName(name); err != nil {
			return seeHelp(command, fmt.Sprintf("%q is %v", name, err))
		}
	}
	return nil
}

// rereadTime is how often files of keys are reread. A change counts at the second reading: it works within 5 s.
const rereadTime = 2 * time.Second

// followKeys rereads files of keys until the context ends. It does not wait for the end: a disk that hangs must not delay
// a stop.
func followKeys(stop context.Context, keys *config.Keyring, logger *slog.Logger) {
	inFiles, err := config.KeysInFiles()
	if err != nil { // such as a file that root has read, before RUN_AS
		logger.Warn("a change to the files of keys needs a restart", "reason", err,
			"help", fmt.Sprintf("make it a file that uid %d can read", os.Geteuid()))
		return
	}
	if inFiles {
		go rereadKeys(stop, keys, logger)
	}
}

func rereadKeys(stop context.Context, keys *config.Keyring, logger *slog.Logger) {
	ticks := time.NewTicker(rereadTime)
	defer ticks.Stop()
	for {
		select {
		case <-stop.Done():
			return
		case <-ticks.C:
		}
		changed, err := keys.Reread()
		if err != nil {
			logger.Error("the keys stay as they were", "error", err)
		} else if changed != nil {
			logger.Info("the keys were reread", "keys", len(changed))
		}
	}
}
