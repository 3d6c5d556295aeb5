// Package linearizability proves that there is one order of everything that clients ask of several processes in which
// each answer is right, whatever is killed, paused, cut off or full meanwhile.
//
// Clients ask at random (Client), a Recorder notes what they are answered, and porcupine judges whether there is an
// order of all requests, each at one moment between its call and its answer, in which a plain model of the users
// (state) answers the same. A history is about a few emails, so that clients meet. A client that follows the feed must
// have the list in the end.
//
// What one order of all answers does not show is tested by itself: backups, imports and lists that are read late, beside many
// clients that write.
package linearizability

import (
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }
