package commands

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"users-api/config"
)

func newHealthcheck() *cobra.Command {
	return &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the service on this machine whether it is up",
		Long: `Asks the service on this machine, at PORT, whether it is up. The exit code is 1 when it is not.

The health check of the image runs it, inside of the container: ` + "`docker compose ps`" + ` shows what it has found.`,
		Args: cobra.NoArgs,
		RunE: healthcheck,
	}
}

func healthcheck(*cobra.Command, []string) error {
	settings, err := config.Read()
	if err != nil {
		return err
	}
	address := settings.ListenAddress
	if address == "" || net.ParseIP(address).IsUnspecified() {
		address = "127.0.0.1"
	}
	host := net.JoinHostPort(address, strconv.Itoa(int(settings.Port)))
	url := (&url.URL{Scheme: "http", Host: host, Path: "/health"}).String()
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{}} // without HTTP_PROXY
	answer, err := client.Get(url)
	if err != nil {
		return fmt.Errorf("unhealthy: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // only its status matters
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("unhealthy: %s answered %s", url, answer.Status)
	}
	fmt.Println("healthy:", url, "answered", answer.Status)
	return nil
}
