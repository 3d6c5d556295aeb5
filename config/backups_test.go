package config

import (
	"strings"
	"testing"
	"time"
)

func TestBackupsAreReadAsTheyWereMeant(t *testing.T) {
	clear(t)
	for name, value := range map[string]string{
		"BACKUP_EVERY": "1h30m", "BACKUP_KEEP": "1", "BACKUP_DIR": "/mnt/backups",
	} {
		t.Setenv(name, value)
	}
	got, err := Read()
	if want := (Backups{Every: 90 * time.Minute, Keep: 1, Dir: "/mnt/backups"}); err != nil || got.Backups != want {
		t.Errorf("got %+v and %v, want %+v", got.Backups, err, want)
	}
	t.Setenv("BACKUP_EVERY", "1m") // the shortest
	if got, err := Read(); err != nil || got.Backups.Every != time.Minute {
		t.Errorf("got %+v and %v", got.Backups, err)
	}
}

func TestAMistakeInTheBackupsIsNamedWithItsValue(t *testing.T) {
	for _, mistake := range []struct{ name, value string }{
		{"BACKUP_EVERY", "daily"}, {"BACKUP_EVERY", "59s"}, {"BACKUP_EVERY", "-1h"}, {"BACKUP_EVERY", "3600"},
		{"BACKUP_EVERY", "0"}, {"BACKUP_KEEP", "0"}, {"BACKUP_KEEP", "all"}, {"BACKUP_KEEP", "65536"},
	} {
		t.Run(mistake.name+" "+mistake.value, func(t *testing.T) {
			clear(t)
			t.Setenv(mistake.name, mistake.value)
			_, err := Read()
			if err == nil || !strings.Contains(err.Error(), mistake.name+` is "`+mistake.value+`"`) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
