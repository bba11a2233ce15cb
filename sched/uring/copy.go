package uring

import (
	"io"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// copySize is how much ReadFrom and WriteTo copy at a time.
const copySize = 64 << 10

// copyBuffers are buffers of copySize bytes.
var copyBuffers = sync.Pool{New: func() any { return new([copySize]byte) }}

// ReadFrom implements io.ReaderFrom: it writes what it reads from r, until r ends.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	if from, is := r.(*Conn); is {
		return from.WriteTo(c)
	}
	return copyBuffered(writeOnly{c}, r)
}

// WriteTo implements io.WriterTo: it writes to w what it reads, until the peer has sent all. While it waits it holds no
// buffer, but where it has to receive by one request after another. From one stream to another Conn the bytes move in
// the kernel.
func (c *Conn) WriteTo(w io.Writer) (n int64, err error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	to, _ := w.(*Conn)
	var p pipe
	defer p.close()
	for err == nil {
		var written int64
		spliced := false
		if to.ok() && c.inbox.streams.Load() {
			written, err, spliced = c.spliceTo(to, &p)
		}
		if !spliced {
			p.close() // it is empty, and what follows may wait
			written, err = c.writePiece(w)
		}
		n += written
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// writePiece writes to w what one read brings. The connection may be closed while w blocks.
func (c *Conn) writePiece(w io.Writer) (int64, error) {
	l, err := c.receiveLoan()
	if err != nil {
		return 0, c.readError(err)
	}
	defer l.end()
	b := l.bytes()
	n, err := w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return int64(n), err
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

// receiveLoan is receive into memory that it finds itself. While it waits for what an inbox or a stream is to bring, it
// holds none. It becomes the user of the side that reads, for so long as it takes.
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
			_, err = c.d.reading.operate(entry{op: opPoll, flags: c.d.reading.events})
		}
	}
	return loan{}, err
}

// writeOnly hides the method by which io.Copy would call ReadFrom again.
type writeOnly struct{ io.Writer }

func copyBuffered(w io.Writer, r io.Reader) (int64, error) {
	b := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(b)
	return io.CopyBuffer(w, r, b[:])
}
