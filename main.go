// Command users-api serves a registry of users as JSON over HTTP, from one SQLite file. See README.md.
package main

import (
	"os"

	"users-api/commands"
)

func main() { os.Exit(commands.Run(os.Args[1:])) }
