package commands

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"users-api/config"
)

// Healthcheck checks whether the service on this machine is up, for a container image without a shell.
func Healthcheck() error {
	settings, err := config.Read()
	if err != nil {
		return err
	}
	if settings.Port == 0 {
		return errors.New("unhealthy: PORT is 0, and so only the log of the service knows its port; set PORT to a number")
	}
	url := (&url.URL{
		Scheme: "http", Host: net.JoinHostPort(settings.LocalHost(), strconv.Itoa(int(settings.Port))), Path: "/health",
	}).String()
	client := &http.Client{Timeout: 2 * time.Second}
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
