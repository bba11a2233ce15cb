package uring

import (
	"io"
	"sync"
	"syscall"
)

// copySize is how much ReadFrom and WriteTo copy at a time.
const copySize = 64 << 10

// copyBuffers are buffers of copySize bytes.
var copyBuffers = sync.Pool{New: func() any { return new([copySize]byte) }}

// ReadFrom implements io.ReaderFrom: it writes what it reads from r, until r ends.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) { return copyBuffered(writeOnly{c}, r) }

// WriteTo implements io.WriterTo: it writes to w what it reads, until the peer has sent all. Where it can it holds no buffer while it waits.
func (c *Conn) WriteTo(w io.Writer) (n int64, err error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	for err == nil {
		var written int64
		written, err = c.writePiece(w)
		n += written
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// writePiece writes to w what one read brings. The connection may be closed while w blocks.
func (c *Conn) writePiece(w io.Writer) (int64, error) {
	p, err, ok := c.receivePiece()
	if !ok {
		return c.copyOnce(w)
	}
	if err != nil {
		return 0, c.readError(err)
	}
	defer p.give()
	return written(w, p.bytes())
}

// copyOnce is writePiece with a buffer.
func (c *Conn) copyOnce(w io.Writer) (int64, error) {
	b := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(b)
	n, err := c.Read(b[:])
	if err != nil {
		return 0, err
	}
	return written(w, b[:n])
}

// written writes b to w.
func written(w io.Writer, b []byte) (int64, error) {
	n, err := w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return int64(n), err
}

// writeOnly hides the method by which io.Copy would call ReadFrom again.
type writeOnly struct{ io.Writer }

func copyBuffered(w io.Writer, r io.Reader) (int64, error) {
	b := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(b)
	return io.CopyBuffer(w, r, b[:])
}
