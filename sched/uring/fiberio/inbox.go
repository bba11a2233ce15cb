package fiberio

import (
	"io"
	"sync"
	"sync/atomic"
	"syscall"

	"fiberlab/sched/uring"
)

// inbox is what has come on a connection and has not been read. One request receives all that comes, into pieces that
// the kernel takes from the engine's buffers. So a connection on which nothing comes holds no memory, and a reader need
// not ask the kernel for bytes that are there already.
//
// The request ends for many reasons: the peer has shut down, the engine has no buffer left, the connection streams, or
// is closed. While it is under way, nothing else may receive on the connection: bytes would get out of order.
//
// A connection streams when one piece is full, or mostUnread pieces have arrived unread. Pieces, and a copy of each,
// would then cost more than they save. So the request ends. A reader with room for a piece receives into its own
// memory, by one operation after another, until one brings less than a piece; see receivedOnce.
type inbox struct {
	conn    *Conn
	buffers *uring.Buffers // of the engine that the request was made of
	engine  *uring.Engine

	request uring.Request
	stop    *uring.Request // ends it; nil until it is needed

	// For the reader.
	read pieces
	at   int // how much of the first piece it has read

	streams atomic.Bool // any thread may look at it

	mu       sync.Mutex // for what follows. Its holder does not wait
	arrived  pieces
	open     bool  // the request is under way
	stopping bool  // and so is stop
	off      bool  // it must not begin any more
	end      error // no more will come: io.EOF, or the kernel's error
}

// mostUnread is how many pieces may arrive before the reader takes them. Then the request ends, as for a stream:
// the peer has to wait as soon as the socket is full.
const mostUnread = 16

// pieces is a list of pieces of the engine's buffers.
type pieces struct{ first, last, count int32 }

var noPieces = pieces{uring.None, uring.None, 0}

// newInbox makes the inbox of a connection.
func newInbox(c *Conn) *inbox {
	in := &inbox{conn: c, read: noPieces, arrived: noPieces}
	in.request.Completed = in.came
	return in
}

// receive waits for bytes to come, if there are none, and puts them into p. See await for the rest.
func (in *inbox) receive(p []byte) (n int, err error, ok bool) {
	err, ok = in.await(len(p))
	return in.take(p), err, ok // after an error, or without ok, there is nothing to take
}

// await waits until the caller, the user of the side that reads, has a piece. room is how many bytes the caller has
// memory for. The error is io.EOF, the kernel's, or WaitFor's. ok is false if the caller should receive by itself: the
// request is not under way, and cannot begin; or the connection streams and room is at least a piece.
func (in *inbox) await(room int) (err error, ok bool) {
	for in.read.count == 0 {
		in.mu.Lock()
		in.read, in.arrived = in.arrived, noPieces
		end, idle := in.end, !in.open && !in.stopping
		in.mu.Unlock()
		switch {
		case in.read.count > 0:
			return nil, true
		case end != nil:
			return end, true
		case idle && (in.streams.Load() && room >= uring.BufferSize || !in.begin()):
			return nil, false
		}
		if err := in.conn.d.reading.WaitFor(in.engine, in.hasNews, &in.conn.d.reading); err != nil {
			return err, true
		}
	}
	return nil, true
}

// receivedOnce notes that a separate operation has received n bytes into room bytes of memory. From now on the
// connection streams if n is a piece or more, or if it streamed before and n is room. Only the reader calls it.
func (in *inbox) receivedOnce(n, room int) {
	streams := in.streams.Load()
	if now := n >= uring.BufferSize || streams && n == room; now != streams {
		in.streams.Store(now)
	}
}

// hasNews reports whether the reader has something to do.
func (in *inbox) hasNews() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.arrived.count > 0 || in.end != nil || !in.open && !in.stopping
}

// take copies unread bytes from the reader's pieces into p, and gives emptied pieces back. It returns how many bytes.
func (in *inbox) take(p []byte) (n int) {
	for n < len(p) && in.read.count > 0 {
		b := in.buffers.Bytes(in.read.first)[in.at:]
		moved := copy(p[n:], b)
		n += moved
		in.at += moved
		if moved == len(b) {
			p := in.takeFirst()
			p.give()
		}
	}
	return n
}

// takeFirst takes the reader's first piece, of which there must be one.
func (in *inbox) takeFirst() piece {
	p := piece{in.engine, in.buffers, in.read.first, in.at}
	in.read.first = in.buffers.After(p.number)
	in.read.count--
	in.at = 0
	return p
}

// piece is one of an engine's buffers that was taken out of an inbox. Its holder reads it, and then gives it back.
type piece struct {
	engine  *uring.Engine
	buffers *uring.Buffers
	number  int32
	at      int // how many of its bytes have been read
}

// bytes returns what has not been read. The bytes are valid until give.
func (p *piece) bytes() []byte { return p.buffers.Bytes(p.number)[p.at:] }

// give gives the piece back to its engine.
func (p *piece) give() {
	if p.engine.Mine() {
		p.buffers.Give(p.number)
	} else {
		p.buffers.GiveElsewhere(p.number)
	}
}

// begin submits the request. Only the reader calls it, with an empty inbox and no request under way. It returns false
// if the engine has no buffer now, or if the connection or the engine is closed.
func (in *inbox) begin() bool {
	e, err := in.conn.d.home()
	if err != nil {
		return false
	}
	b := e.Buffers()
	if b == nil || b.Room() == 0 || !in.conn.d.acquire() {
		return false
	}
	in.mu.Lock() // halt comes before all of what follows, or after it
	defer in.mu.Unlock()
	if !in.off {
		in.engine, in.buffers = e, b
		in.request.Entry = uring.Entry{
			Op: uring.OpReceive, How: uring.Multishot | uring.Provided, FD: int32(in.conn.d.fd),
		}
		in.request.Internal, in.request.Ending = true, false
		in.streams.Store(false) // until it brings much
		if in.open = e.Submit(&in.request) == nil; in.open {
			return true
		}
	}
	in.conn.d.release()
	return false
}

// came takes what a completion of the request brings. It is called on the engine's thread.
func (in *inbox) came(c uring.Completion) {
	number, filled := c.Buffer()
	if filled {
		in.buffers.Take(number, max(0, int(c.Result)))
	}
	in.mu.Lock()
	switch {
	case filled && c.Result > 0:
		in.arrived.add(in.buffers, number)
	case filled:
		in.buffers.Give(number)
	}
	if !c.More() {
		in.open = false
		switch errno := syscall.Errno(-min(c.Result, 0)); errno {
		case 0:
			if c.Result == 0 {
				in.end = io.EOF
			}
		case syscall.ENOBUFS, syscall.ECANCELED, syscall.EINTR, syscall.EAGAIN: // the reader makes another one
		default:
			in.end = errno
		}
	}
	much := filled && int(c.Result) == uring.BufferSize || in.arrived.count >= mostUnread
	if much {
		in.streams.Store(true)
	}
	in.mu.Unlock()
	if much {
		in.halt(false)
	}
	in.conn.d.reading.Nudge()
	if !c.More() {
		in.conn.d.release()
	}
}

// add puts a piece behind the others.
func (l *pieces) add(b *uring.Buffers, number int32) {
	if l.count == 0 {
		l.first = number
	} else {
		b.Link(l.last, number)
	}
	l.last = number
	l.count++
}

// halt has the request end, if it is under way; off keeps it from beginning again. It may be called from anywhere, and
// does not wait.
func (in *inbox) halt(off bool) {
	in.mu.Lock()
	in.off = in.off || off
	begin := in.open && !in.stopping
	in.stopping = in.stopping || begin
	in.mu.Unlock()
	if !begin {
		return
	}
	if in.stop == nil {
		in.stop = &uring.Request{Internal: true, Cancels: &in.request, Completed: in.stopped}
	}
	in.stop.Entry, in.stop.Ending = uring.Entry{Op: uring.OpCancel}, true
	if in.engine.Submit(in.stop) != nil { // the engine has ended, and the request with it
		in.stopped(uring.Completion{})
	}
}

// close is halt for good. If it finds unread bytes, close(2) sends a reset, as it does for unread bytes in the socket.
func (in *inbox) close() {
	in.halt(true)
	if reader := &in.conn.d.reading.use; reader.TryLock() { // else a Read is under way
		in.mu.Lock()
		if in.read.count+in.arrived.count > 0 {
			_ = syscall.SetsockoptLinger(in.conn.d.fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
		}
		in.mu.Unlock()
		reader.Unlock()
	}
}

// stopped is called when stop is over, on the engine's thread or by halt. The reader may then begin the request again.
func (in *inbox) stopped(uring.Completion) {
	in.mu.Lock()
	in.stopping = false
	in.mu.Unlock()
	in.conn.d.reading.Nudge()
}

// empty gives all pieces back. Only descriptor.release calls it, when the last use after Close has ended.
func (in *inbox) empty() {
	for _, l := range []pieces{in.read, in.arrived} {
		for number := l.first; number != uring.None; {
			following := in.buffers.After(number)
			in.buffers.GiveElsewhere(number)
			number = following
		}
	}
	in.read, in.arrived = noPieces, noPieces
}
