package routes

import (
	"net"

	"golang.org/x/sys/unix"
)

// unsent returns how many written bytes this system still holds, because the client's system has not taken them.
func unsent(connection *net.TCPConn) (bytes int) {
	raw, err := connection.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(descriptor uintptr) { bytes, _ = unix.IoctlGetInt(int(descriptor), unix.SIOCOUTQ) })
	return bytes
}
