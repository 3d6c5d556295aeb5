package failing

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"users-api/tests/program"
)

// Server returns the URL of a proxy in front of a PostgreSQL database, whose statements these are. It knows no more of the
// protocol than where a message ends (postgresql.org/docs/current/protocol-message-formats.html).
func Server(t testing.TB, database string, s *Statements) (through string) {
	t.Helper()
	direct, err := url.Parse(database)
	program.Must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	program.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go s.relay(client, direct.Host)
		}
	}()
	proxy := *direct
	proxy.Host, proxy.RawQuery = listener.Addr().String(), "sslmode=disable"
	return proxy.String()
}

// fails is a message that is a statement, which fails with what the server says of a broken disk, in a transaction as outside.
var fails = message('Q', "DO $$ BEGIN RAISE EXCEPTION 'this statement fails' USING ERRCODE = 'io_error'; END $$\x00")

func message(kind byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(text))), text...)
}

// cancels is what a connection begins with that only cancels a statement of another.
const cancels = 80877102

// relay passes on what a client and the server say, but a statement that fails: what the client sends up to its end, a Query
// or a Sync, is replaced.
func (s *Statements) relay(client net.Conn, host string) {
	defer client.Close() //nolint:errcheck // it hears no more
	server, err := net.Dial("tcp", host)
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // it says no more
	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	head, statement := make([]byte, 5), []byte(nil)
	for begins := true; ; begins = false {
		start := head
		if begins { // the first message has no letter
			start = head[1:]
		}
		if _, err := io.ReadFull(client, start); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		statement = append(append(statement, start...), body...)
		if begins && s.Cancelled != nil && binary.BigEndian.Uint32(body) == cancels {
			s.Cancelled()
		}
		isEnd := !begins && (head[0] == 'Q' || head[0] == 'S')
		// pgx ends a transaction so, and asks whether a connection still works: if it does not, it takes another.
		isFree := strings.HasPrefix(string(body), "rollback\x00") || strings.HasPrefix(string(body), "-- ping")
		if isEnd && !isFree && s.next(strings.ToValidUTF8(string(statement), ".")) {
			statement = fails
		}
		if isPart := strings.ContainsRune("PBDEC", rune(head[0])); begins || isEnd || !isPart {
			if _, err := server.Write(statement); err != nil {
				return
			}
			statement = statement[:0:0]
		}
	}
}
