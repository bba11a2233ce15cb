package uring

import "golang.org/x/sys/unix"

// mostAtOnce is how many bytes one operation transfers at most. The kernel would cut more anyway.
const mostAtOnce = 1 << 30

// send has the kernel take all of p. The caller is the user of the side that writes. It returns how much the kernel has taken, and why that is not all.
func (c *Conn) send(p []byte) (sent int, err error) {
	sending(p)
	for sent < len(p) {
		rest := p[sent:min(len(p), sent+mostAtOnce)]
		n, err := 0, error(unix.EAGAIN)
		if c.d.writing.direct() {
			n, err = tryNow(unix.SYS_SENDTO, c.d.fd, rest)
		}
		if err == unix.EAGAIN {
			if n, err = c.d.writing.transfer(opSend, rest); err != nil {
				n = 0
			}
		}
		sent += n
		if err != nil {
			return sent, systemCall("write", err)
		}
	}
	return sent, nil
}
