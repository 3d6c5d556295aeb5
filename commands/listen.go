package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"

	"users-api/config"
	"users-api/routes"
)

// listenToClients returns the socket that systemd passed, if users-api.socket is active, and otherwise opens PORT.
// systemd keeps its socket open while the service restarts, so that no client is refused meanwhile.
func listenToClients(settings config.Config) (net.Listener, error) {
	passed, err := activation.Listeners()
	if len(passed) == 0 || err != nil {
		return listen(settings, "PORT", settings.Port)
	}
	listener, ok := passed[0].(*net.TCPListener)
	if len(passed) > 1 || !ok {
		return nil, errors.New("systemd passed something else than one TCP socket: " +
			"write one ListenStream= with a port, or an address and a port, into users-api.socket")
	}
	return listener, nil
}

// listen opens a port. The variable is the one that sets the port, for the error message.
func listen(settings config.Config, variable string, port uint16) (net.Listener, error) {
	listener, err := net.Listen("tcp", settings.ListensTo(port))
	if err == nil {
		return listener, nil
	}
	help := "stop the program that has it, or set " + variable + " to another"
	switch {
	case errors.Is(err, syscall.EACCES):
		help = "set " + variable + " to 1024 or more, or grant the capability NET_BIND_SERVICE"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		help = "set LISTEN_ADDRESS to an address of this machine, or unset it to listen on all of them"
	}
	return nil, fmt.Errorf("cannot listen on port %d: %w; %s", port, err, help)
}

// serveAdmin serves ADMIN_PORT until end is called. If ADMIN_PORT is not set, it does nothing and the URL is "".
func serveAdmin(stop context.Context, settings config.Config, service routes.Service) (url string, end func(), err error) {
	if settings.AdminPort == nil {
		return "", func() {}, nil
	}
	listener, err := listen(settings, "ADMIN_PORT", *settings.AdminPort)
	if err != nil {
		return "", nil, err
	}
	return localURL(listener), service.Admin(stop, listener), nil
}

// localURL returns the URL of a listener for a person on this machine.
func localURL(listener net.Listener) string {
	address := listener.Addr().(*net.TCPAddr) // with PORT=0, its port is the one that the system chose
	if address.IP.IsUnspecified() || address.IP.String() == "127.0.0.1" {
		return "http://localhost:" + strconv.Itoa(address.Port)
	}
	return "http://" + address.String()
}

// warnOfOpenAccess warns if other machines have full access without a key.
func warnOfOpenAccess(service routes.Service, address net.Addr) {
	if service.Access.Keys != nil || address.(*net.TCPAddr).IP.IsLoopback() {
		return
	}
	service.Logger.Warn("anyone who can reach this port can read, change and delete all users",
		"help", "set API_KEY or API_KEY_FILE to require a key; to keep other machines out, set LISTEN_ADDRESS=127.0.0.1, "+
			"or PUBLISH=127.0.0.1:3000 with compose")
}
