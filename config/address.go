package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/viper"
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

// readListenAddress returns LISTEN_ADDRESS. Its zero value means all addresses.
func readListenAddress(env *viper.Viper) (address netip.Addr, err error) {
	value := env.GetString("LISTEN_ADDRESS")
	if value == "" {
		return address, nil
	}
	if address, err = netip.ParseAddr(value); err != nil {
		return address, fmt.Errorf("LISTEN_ADDRESS is %q: it must be an IP address of this machine without a port, such as 127.0.0.1 or ::1",
			value)
	}
	return address, nil
}

// hostName matches a name as browsers write it in Host: letters beyond ASCII are encoded as xn--.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$`)

// readAllowedHosts returns ALLOWED_HOSTS: names and IP addresses in lower case, without brackets.
func readAllowedHosts(env *viper.Viper) (hosts []string, err error) {
	value := env.GetString("ALLOWED_HOSTS")
	if value == "" {
		return nil, nil
	}
	for host := range strings.SplitSeq(value, ",") {
		host = strings.ToLower(strings.TrimSpace(host))
		if bare, ok := strings.CutPrefix(host, "["); ok {
			host = strings.TrimSuffix(bare, "]")
		}
		if address, err := netip.ParseAddr(host); err == nil {
			hosts = append(hosts, address.String())
			continue
		}
		if host = strings.TrimSuffix(host, "."); !hostName.MatchString(host) {
			return nil, fmt.Errorf("ALLOWED_HOSTS is %q: it must be host names or IP addresses with a comma between, without ports, such as users.example.org,localhost",
				value)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}
