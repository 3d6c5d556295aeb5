package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"users-api/config"
	"users-api/routes"
)

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
	return localURL(settings, listener.Addr()), service.Admin(stop, listener), nil
}

// localURL returns the URL of a listener for a person on this machine.
func localURL(settings config.Config, address net.Addr) string {
	host := settings.LocalHost()
	if host == "127.0.0.1" {
		host = "localhost"
	}
	port := address.(*net.TCPAddr).Port // with PORT=0, the one that the system chose
	return "http://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// warnOfOpenAccess warns if other machines have full access without a key.
func warnOfOpenAccess(service routes.Service, address net.Addr) {
	if len(service.Access.Keys) > 0 || address.(*net.TCPAddr).IP.IsLoopback() {
		return
	}
	service.Logger.Warn("anyone who can reach this port can read, change and delete all users",
		"help", "set API_KEY or API_KEY_FILE to require a key; to keep other machines out, set LISTEN_ADDRESS=127.0.0.1, "+
			"or PUBLISH=127.0.0.1:3000 with compose")
}
