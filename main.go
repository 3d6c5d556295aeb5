// Command users-api serves a registry of users as JSON over HTTP, from a SQLite file or PostgreSQL. See README.md.
package main

import (
	"os"

	"users-api/commands"
)

func main() { os.Exit(commands.Run(os.Args[1:])) }
