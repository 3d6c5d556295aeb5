package commands

import (
	"crypto/rand"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"users-api/config"
)

func newKey() *cobra.Command {
	return &cobra.Command{
		Use:   "key [NAME]",
		Short: "Print a new key, for API_KEY or API_READ_KEY",
		Long: `Prints a new random key of 26 characters, which cannot be guessed. It is stored nowhere. This adds one to the
file that API_KEY_FILE names.

  users-api key >> api_key

With a NAME, it prints a line for a file that API_KEY_FILE names, with the name and the SHA-256 sum of the key, so
that the file contains no secret, and the key itself on stderr, once. A running service reads the file again on
SIGHUP. The log has the name at each request.

  users-api key hr-sync >> api_key`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, arguments []string) error {
			key := rand.Text()
			if len(arguments) == 0 {
				fmt.Println(key)
				return nil
			}
			if err := config.CheckKeyName(arguments[0]); err != nil {
				return fmt.Errorf("%q is %w", arguments[0], err)
			}
			fmt.Println(config.KeyLine(arguments[0], key))
			fmt.Fprintln(os.Stderr, key)
			return nil
		},
	}
}
