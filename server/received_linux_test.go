package server

import (
	"net"
	"syscall"
	"testing"
	"unsafe"
)

// untilReceived waits until the server's machine has received all that the client has sent. On a
// busy machine Write can return before that, also to an address of the same machine.
func untilReceived(t *testing.T, nc net.Conn) {
	t.Helper()
	raw, err := tcpConn(nc).SyscallConn()
	if err != nil {
		t.Fatalf("descriptor: %v", err)
	}
	until(t, "all bytes are received", func() bool {
		var unacknowledged int32 // SIOCOUTQ in tcp(7)
		var errno syscall.Errno
		err := raw.Control(func(fd uintptr) {
			_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&unacknowledged)))
		})
		if err != nil || errno != 0 {
			t.Fatalf("bytes not acknowledged: %v, %v", err, errno)
		}
		return unacknowledged == 0
	})
}
