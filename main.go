// Command users-api serves a registry of users as JSON over HTTP, from one SQLite file. See README.md.
package main

import (
	"fmt"
	"os"

	"users-api/commands"
)

const help = `users-api serves a registry of users as JSON over HTTP, from one SQLite file.

  users-api               serve until SIGTERM or SIGINT (Ctrl+C)
  users-api healthcheck   ask the service on this machine whether it is up; exit code 1 when it is not
  users-api help          show this text

Settings are environment variables:

  PORT             the port to listen on; 0 lets the system choose (3000)
  LISTEN_ADDRESS   the one address to listen on (every address)
  ALLOWED_HOSTS    the host names to answer for, with a comma between (any)
  API_KEY          ask for this key; API_KEY_FILE names a file with one a line (none: everybody may do everything)
  API_READ_KEY     a key that may only read; API_READ_KEY_FILE names a file with one a line (none)
  ADMIN_PORT       a port for metrics, probes and profiles, not for the public (none)
  DATA_DIR         the directory of users.db (data)
  LIST_MEMORY_MIB  up to this size the list of users is kept in memory (32)
  LOG_FORMAT       text or json (text)
  LOG_LEVEL        debug, info, warn or error (info)
  NODE_ENV         logged at the start, and nothing else
  RUN_AS           the uid and gid to become when started as root; the container image sets it
`

func main() { os.Exit(run(os.Args[1:])) }

// run does what the arguments ask for, and returns the exit code.
func run(arguments []string) int {
	if len(arguments) == 0 {
		if commands.Serve() != nil { // it has logged why
			return 1
		}
		return 0
	}
	err := fmt.Errorf("unknown arguments %q; see `users-api help`", arguments)
	if len(arguments) == 1 {
		switch arguments[0] {
		case "healthcheck":
			err = commands.Healthcheck()
		case "help", "--help", "-h":
			_, err = fmt.Print(help)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "users-api:", err)
		return 1
	}
	return 0
}
