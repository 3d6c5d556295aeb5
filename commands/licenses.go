package commands

import (
	"compress/gzip"
	_ "embed"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// licenses is the licence text of everything that is linked in, compressed. "make licenses" writes it.
//
//go:embed licenses.gz
var licenses string

func newLicenses() *cobra.Command {
	return &cobra.Command{
		Use:   "licenses",
		Short: "Print the licences of all software in the program",
		Long: "Prints the licences of all software in the program: " +
			"the modules that are linked in, Go, and Swagger UI.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			text, err := gzip.NewReader(strings.NewReader(licenses))
			if err != nil {
				return err
			}
			_, err = io.Copy(command.OutOrStdout(), text)
			return err
		},
	}
}
