package uring

import (
	"io"

	"golang.org/x/sys/unix"
)

// receive waits for bytes to come and puts them into p, which has room for at least one. The caller is the user of the side that reads. The error is io.EOF, that of the
// side's end, or that of the kernel.
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

// receivePiece is receive that returns a piece of the inbox, which the caller has to give back. It returns false if there is none and the caller should receive by itself. It
// becomes the user of the side that reads, for so long as it takes.
func (c *Conn) receivePiece() (p piece, err error, ok bool) {
	if err := c.d.reading.lock(); err != nil {
		return piece{}, err, true
	}
	defer c.d.reading.unlock()
	if err, ok := c.inbox.await(false); err != nil || !ok {
		return piece{}, err, ok
	}
	p = c.inbox.takeFirst()
	received(p.bytes())
	return p, nil, true
}

// receiveOnce is receive by a separate operation. None of the inbox must be under way.
func (c *Conn) receiveOnce(p []byte) (int, error) {
	n, err := 0, error(unix.EAGAIN)
	if c.d.reading.direct() {
		n, err = tryNow(unix.SYS_RECVFROM, c.d.fd, p)
	}
	if err == unix.EAGAIN {
		n, err = c.d.reading.transfer(opReceive, p)
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	return n, err
}
