package fiberio

import (
	"io"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// copySize is how much WriteTo copies at a time.
const copySize = 64 << 10

// copyBuffers are buffers of copySize bytes.
var copyBuffers = sync.Pool{New: func() any { return new([copySize]byte) }}

// WriteTo implements io.WriterTo: it writes to w what it reads, until the peer has sent all. While it waits to read it
// holds no buffer, unless the engine has none free and c does not stream. If c streams and w is a Conn, the bytes move
// in the kernel, where that is possible.
func (c *Conn) WriteTo(w io.Writer) (n int64, err error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	to, _ := w.(*Conn)
	var p pipe
	defer p.close()
	for ended := false; err == nil && !ended; {
		var written int64
		spliced := false
		if to.ok() && c.inbox.streams.Load() {
			written, err, spliced = c.spliceTo(to, &p)
		}
		if !spliced {
			p.close() // it is empty, and what follows may wait
			written, ended, err = c.writePiece(w)
		}
		n += written
	}
	return n, err
}

// writePiece writes to w what one read brings. ended reports that the peer has sent all: then nothing is written. While
// w blocks, other calls may read or close c.
func (c *Conn) writePiece(w io.Writer) (written int64, ended bool, err error) {
	l, err := c.receiveLoan()
	if err = c.readError(err); err == io.EOF {
		return 0, true, nil
	} else if err != nil {
		return 0, false, err
	}
	defer l.end()
	b := l.bytes()
	n, err := w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return int64(n), false, err
}

// loan is what one read has brought, in memory that is borrowed until end: a piece of the inbox, or the first n bytes
// of a buffer.
type loan struct {
	piece  piece
	buffer *[copySize]byte // nil: the piece
	n      int
}

func (l *loan) bytes() []byte {
	if l.buffer != nil {
		return l.buffer[:l.n]
	}
	return l.piece.bytes()
}

func (l *loan) end() {
	if l.buffer != nil {
		copyBuffers.Put(l.buffer)
	} else {
		l.piece.give()
	}
}

// receiveLoan is receive into memory that it lends to the caller, who must call end. It locks the side that reads.
// While it waits it holds no memory, unless the inbox has no request under way and c does not stream.
func (c *Conn) receiveLoan() (loan, error) {
	if err := c.d.reading.lock(); err != nil {
		return loan{}, err
	}
	defer c.d.reading.unlock()
	err, ok := c.inbox.await(copySize)
	if ok && err == nil && c.inbox.read.count == 1 {
		p := c.inbox.takeFirst()
		received(p.bytes())
		return loan{piece: p}, nil
	}
	for err == nil {
		l := loan{buffer: copyBuffers.Get().(*[copySize]byte)}
		if !ok && c.inbox.streams.Load() {
			l.n, err = c.receiveNow(l.buffer[:])
		} else {
			l.n, err = c.receive(l.buffer[:])
		}
		if err == nil {
			return l, nil
		}
		l.end()
		if err == unix.EAGAIN {
			err = c.d.reading.poll()
		}
	}
	return loan{}, err
}

// pipe is a pipe(2) between sockets. splice(2) moves the pages that hold the bytes through it, and copies nothing. The
// zero value is closed. Only one caller at a time may use a pipe.
type pipe struct {
	out, in int
	opened  bool
}

// pipeSize is how many bytes a pipe has room for.
const pipeSize = 1 << 20

// open opens the pipe, if it is closed. The error is the kernel's.
func (p *pipe) open() error {
	if p.opened {
		return nil
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return err
	}
	*p = pipe{ends[0], ends[1], true}
	_, _ = unix.FcntlInt(uintptr(p.in), unix.F_SETPIPE_SZ, pipeSize) // else it has less room, and takes more calls
	return nil
}

func (p *pipe) close() {
	if p.opened {
		p.opened = false
		_ = unix.Close(p.out)
		_ = unix.Close(p.in)
	}
}

// splice moves up to n bytes between two descriptors, one of them a pipe's, and returns 0 at the end of a stream. It
// does not block: if it would have to, the error is EAGAIN. The thread keeps its P, as in tryNow. In many calls the
// runtime would otherwise give the P to another thread, which costs more than the call.
func splice(from, to, n int) (int, error) {
	for {
		moved, _, errno := syscall.RawSyscall6(unix.SYS_SPLICE, uintptr(from), 0, uintptr(to), 0, uintptr(n),
			unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
		if errno == 0 {
			return int(moved), nil
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// cannotSplice reports whether err means: no pipe, no splice for this socket, or no stream. No byte has been moved.
func cannotSplice(err error) bool {
	return err == unix.EINVAL || err == unix.ENOSYS || err == unix.EPERM || err == unix.EMFILE || err == unix.ENFILE
}

// spliceTo moves the bytes of one read of c to another connection, or to c itself, through p, which is empty. If ok is
// false, it has moved nothing, and the bytes have to be copied. The error is as Read or Write returns it.
func (c *Conn) spliceTo(to *Conn, p *pipe) (n int64, err error, ok bool) {
	held, err := c.receivePipe(p)
	switch {
	case cannotSplice(err):
		return 0, nil, false
	case err != nil:
		return 0, c.readError(err), true
	}
	sent, err := to.sendPipe(p, held)
	return int64(sent), err, true
}

// receivePipe is receive into an empty pipe, which it closes while it waits. It locks the side that reads. The error is
// EINVAL if the inbox has bytes, c does not stream, or the peer has sent all: the caller then copies.
func (c *Conn) receivePipe(p *pipe) (n int, err error) {
	s := &c.d.reading
	if err := s.lock(); err != nil {
		return 0, err
	}
	defer s.unlock()
	if err, ok := c.inbox.await(pipeSize); err != nil || ok || !c.inbox.streams.Load() { // the copy handles these
		return 0, syscall.EINVAL
	}
	for {
		s.beginCall()
		if err := p.open(); err != nil {
			return 0, err
		}
		switch n, err := splice(c.d.fd, p.in, pipeSize); {
		case n > 0:
			s.moved += n
			c.inbox.receivedOnce(n, pipeSize)
			received(nil)
			return n, nil
		case err == nil:
			return 0, syscall.EINVAL
		case err != unix.EAGAIN:
			return 0, err
		}
		p.close()
		if err := s.poll(); err != nil {
			return 0, err
		}
	}
}

// sendPipe is Write of the n bytes that are in a pipe.
func (c *Conn) sendPipe(p *pipe, n int) (sent int, err error) {
	s := &c.d.writing
	if err := s.lock(); err != nil {
		return 0, c.failed("write", err)
	}
	defer s.unlock()
	sending(nil)
	for sent < n && err == nil {
		moved := 0
		if moved, err = splice(p.out, c.d.fd, n-sent); err == unix.EAGAIN {
			err = s.poll()
		}
		sent += moved
	}
	return sent, c.writeError(err)
}
