package uring

import "golang.org/x/sys/unix"

// mostAtOnce is how many bytes one operation transfers at most. The kernel would cut more anyway.
const mostAtOnce = 1 << 30

// largeSend is how many bytes one Write has at least to be sent as a stream is, on any connection.
const largeSend = 16 << 10

// send has the kernel take all of p. The caller is the user of the side that writes. It returns how much the kernel has
// taken, and why that is not all.
func (c *Conn) send(p []byte) (sent int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	sending(p)
	sent, err = c.d.writing.try(unix.SYS_SENDTO, p, len(p) >= largeSend || c.inbox.streams.Load())
	for n := 0; sent < len(p) && (err == nil || err == unix.EAGAIN); sent += n {
		n, err = c.d.writing.transfer(opSend, p[sent:min(len(p), sent+mostAtOnce)])
	}
	return sent, err
}
