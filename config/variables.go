package config

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/viper"
)

type variables struct {
	*viper.Viper
	mistake error // the first
}

func newVariables(defaults map[string]string) *variables {
	v := &variables{Viper: viper.New()}
	v.AutomaticEnv() // an empty variable counts as unset
	for name, value := range defaults {
		v.SetDefault(name, value)
	}
	return v
}

func (v *variables) refuse(name, problem string) {
	if v.mistake == nil {
		v.mistake = fmt.Errorf("%s is %q%s", name, v.GetString(name), problem)
	}
}

func (v *variables) number(name string, least uint16) uint16 {
	number, err := strconv.ParseUint(v.GetString(name), 10, 16)
	if err != nil || uint16(number) < least {
		v.refuse(name, fmt.Sprintf(": it must be a whole number from %d to 65535", least))
	}
	return uint16(number)
}

func (v *variables) duration(name string, least time.Duration, examples string) time.Duration {
	duration, err := time.ParseDuration(v.GetString(name))
	if err != nil || duration < least {
		v.refuse(name, fmt.Sprintf(": it must be a time of at least %s, such as %s", short(least), examples))
	}
	return duration
}

// short writes a time without the parts that are zero: 1h, not 1h0m0s.
func short(duration time.Duration) string {
	return strings.NewReplacer("m0s", "m", "h0m", "h").Replace(duration.String())
}

func (v *variables) mebibytes(name string) (bytes int64) { return int64(v.number(name, 0)) << 20 }

func (v *variables) adminPort() *uint16 {
	if v.GetString("ADMIN_PORT") == "" {
		return nil
	}
	return new(v.number("ADMIN_PORT", 0))
}

func (v *variables) absolutePath(name string) string {
	path, err := filepath.Abs(v.GetString(name))
	if err != nil {
		v.refuse(name, fmt.Sprintf(" and cannot be made absolute: %v", err))
	}
	return path
}

// list returns what stands between commas, without the spaces around it.
func (v *variables) list(name string) (parts []string) {
	if v.GetString(name) == "" {
		return nil
	}
	for part := range strings.SplitSeq(v.GetString(name), ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

func (v *variables) logFormat() string {
	format := v.GetString("LOG_FORMAT")
	if format != "text" && format != "json" {
		v.refuse("LOG_FORMAT", ": it must be text or json")
		return "text"
	}
	return format
}

func (v *variables) logLevel() (level slog.Level) {
	value := v.GetString("LOG_LEVEL")
	// slog also accepts "error+4", which hides errors.
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, strings.ToLower(value)) {
		v.refuse("LOG_LEVEL", ": it must be debug, info, warn or error")
		return slog.LevelInfo
	}
	_ = level.UnmarshalText([]byte(value)) // one of those
	return level
}
