package commands

import (
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"
)

func newKey() *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print a new key, for API_KEY or API_READ_KEY",
		Long: `Prints a new random key of 26 characters, which cannot be guessed. It is stored nowhere.

  API_KEY=$(users-api key)     for those who may do everything
  users-api key >> api_key     a line of the file that API_KEY_FILE names`,
		Args: noArguments,
		Run:  func(*cobra.Command, []string) { fmt.Println(rand.Text()) },
	}
}
