//go:build postgres

package postgresql

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	code := m.Run()
	End()
	os.Exit(code)
}

// A system has room for a few thousand segments of shared memory, and keeps those of killed servers.
func TestAServerLeavesNoSharedMemory(t *testing.T) {
	segment := 0
	status := func() error {
		_, err := unix.SysvShmCtl(segment, unix.IPC_STAT, &unix.SysvShmDesc{})
		return err
	}
	t.Run("while it runs", func(t *testing.T) {
		segment, _ = sharedMemory(Start(t).data())
		if err := status(); err != nil {
			t.Fatalf("segment %d: %v", segment, err)
		}
	})
	if err := status(); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) {
		t.Errorf("afterwards, segment %d is still there: %v", segment, err)
	}
}
