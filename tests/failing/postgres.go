package failing

import (
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"users-api/tests/program"
)

// Server returns the URL of a proxy in front of a PostgreSQL database, whose statements these are.
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

// fails is a statement that fails with what the server says of a broken disk, in a transaction as outside.
var fails = &pgproto3.Query{String: "DO $$ BEGIN RAISE EXCEPTION 'this statement fails' USING ERRCODE = 'io_error'; END $$"}

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
		_, _ = io.Copy(client, io.TeeReader(server, s))
		_ = client.Close()
	}()
	says := pgproto3.NewBackend(client, io.Discard)
	var next pgproto3.FrontendMessage
	next, err = says.ReceiveStartupMessage()
	var statement []byte
	born := s.age.Load()
	for ; err == nil; next, err = says.Receive() {
		isEnd, isPart, text := false, false, ""
		switch message := next.(type) {
		case *pgproto3.Query:
			isEnd, text = true, message.String
		case *pgproto3.Sync:
			isEnd = true
		case *pgproto3.Parse, *pgproto3.Bind, *pgproto3.Describe, *pgproto3.Execute, *pgproto3.Close:
			isPart = true
		}
		if statement, err = next.Encode(statement); err != nil {
			return
		}
		if isPart {
			continue
		}
		// pgx ends a transaction so, and asks whether a connection still works: if it does not, it takes another.
		isFree := text == "rollback" || strings.HasPrefix(text, "-- ping")
		if isEnd && !isFree && s.next(strings.ToValidUTF8(string(statement), ".")) {
			statement, _ = fails.Encode(nil) // it is short enough
		}
		if born == s.age.Load() { // otherwise it vanishes
			if _, failed := server.Write(statement); failed != nil {
				return
			}
		}
		statement = statement[:0]
	}
}
