package uring

import (
	"io"

	"golang.org/x/sys/unix"
)

// receive waits for bytes to come and puts them into p, which has room for at least one. The caller is the user of the
// side that reads. The error is io.EOF, the error with which the side has ended, or the kernel's.
func (c *Conn) receive(p []byte) (int, error) {
	p = p[:min(len(p), mostAtOnce)]
	n, err, ok := c.inbox.receive(p)
	if !ok {
		n, err = c.receiveOnce(p)
	}
	if err != nil {
		return 0, err
	}
	received(p[:n])
	return n, nil
}

// receiveOnce is receive by a separate operation. None of the inbox must be under way.
func (c *Conn) receiveOnce(p []byte) (int, error) {
	n, err := c.d.reading.try(unix.SYS_RECVFROM, p, c.inbox.streams.Load())
	if err == unix.EAGAIN {
		n, err = c.d.reading.transfer(opReceive, p)
	}
	return c.receivedOnce(n, err, p)
}

// receivedOnce is what receiveOnce returns that has put n bytes into p.
func (c *Conn) receivedOnce(n int, err error, p []byte) (int, error) {
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.EOF
	}
	c.inbox.receivedOnce(n, len(p))
	return n, nil
}

// receiveNow is receiveOnce for a connection that streams. The error is EAGAIN if nothing has come, or others have to
// have their turn first.
func (c *Conn) receiveNow(p []byte) (int, error) {
	n, err := c.d.reading.try(unix.SYS_RECVFROM, p, true)
	n, err = c.receivedOnce(n, err, p)
	received(p[:n])
	return n, err
}
