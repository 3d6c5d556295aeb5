package config

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// ListensTo returns the address to listen on with a port: "10.0.0.7:3000", or ":3000" for all addresses.
func (c Config) ListensTo(port uint16) string {
	host := ""
	if c.ListenAddress.IsValid() {
		host = c.ListenAddress.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// LocalHost returns the address at which programs on this machine reach the service.
func (c Config) LocalHost() string {
	if !c.ListenAddress.IsValid() || c.ListenAddress.IsUnspecified() {
		return "127.0.0.1"
	}
	return c.ListenAddress.String()
}

func (v *variables) listenAddress() (address netip.Addr) {
	if value := v.GetString("LISTEN_ADDRESS"); value != "" {
		var err error
		if address, err = netip.ParseAddr(value); err != nil {
			v.refuse("LISTEN_ADDRESS", ": it must be an IP address of this machine without a port, such as 127.0.0.1 or ::1")
		}
	}
	return address
}

// hostName matches a name as browsers write it in Host: letters beyond ASCII are encoded as xn--.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$`)

// allowedHosts returns names and IP addresses in lower case, without brackets.
func (v *variables) allowedHosts() (hosts []string) {
	for _, host := range v.list("ALLOWED_HOSTS") {
		host = strings.ToLower(host)
		if bare, ok := strings.CutPrefix(host, "["); ok {
			host = strings.TrimSuffix(bare, "]")
		}
		if address, err := netip.ParseAddr(host); err == nil {
			hosts = append(hosts, address.String())
			continue
		}
		host = strings.TrimSuffix(host, ".")
		if !hostName.MatchString(host) {
			v.refuse("ALLOWED_HOSTS", ": it must be host names or IP addresses with a comma between, "+
				"without ports, such as users.example.org,localhost")
		}
		hosts = append(hosts, host)
	}
	return hosts
}
