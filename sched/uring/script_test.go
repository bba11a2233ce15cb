package uring

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// script is a random sequence of requests on pipes and sockets, and a model of what has to become of each.
type script struct {
	t       *testing.T
	p       staging
	random  *rand.Rand
	streams []*stream
	next    uint64 // id

	expected map[uint64]int32 // completions of this batch; anyEvent: whatever is no error
	reads    []scriptRead     // what they have brought
}

// stream is one direction of a pipe or a pair of sockets, by which bytes go in order: 0, 1, 2... By epoll it is
// of sockets, since that proxy leaves files to others.
type stream struct {
	socket   bool
	in, out  int
	sent     byte // the next byte to be written
	received byte // the next byte to be read
	held     int  // bytes that have not been read
	ended    bool // nothing more will be written

	reader *scriptRead // that waits for bytes
	polls  []uint64    // that wait for them
}

type scriptRead struct {
	id     uint64
	length int32
	memory []byte
	from   byte // the first byte that it brings
}

const anyEvent = int32(1) << 30

func newStream(t *testing.T, socket bool) *stream {
	s := &stream{socket: socket}
	if socket {
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		s.in, s.out = ends[0], ends[1]
	} else {
		var ends [2]int
		require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
		s.in, s.out = ends[0], ends[1]
	}
	return s
}

// stage stages a request that completes with result, or, if that is -EAGAIN, later.
func (s *script) stage(op Entry, result int32) uint64 {
	s.next++
	op.id = s.next
	must(s.t, s.p, op)
	if result != -int32(syscall.EAGAIN) {
		s.expected[op.id] = result
	}
	return op.id
}

// brings is what a read of a stream is to complete with now.
func (st *stream) brings(length int32) int32 {
	if st.held == 0 && !st.ended {
		return -int32(syscall.EAGAIN)
	}
	return min(length, int32(st.held))
}

// read stages a read.
func (s *script) read(st *stream) {
	if st.reader != nil || len(st.polls) > 0 {
		return
	}
	r := &scriptRead{length: 1 + s.random.Int32N(40), from: st.received, memory: make([]byte, 40)}
	op := Entry{Op: OpRead, FD: int32(st.in), Addr: pinned(s.t, r.memory), Length: uint32(r.length)}
	if st.socket && (!isRing(s.p) || s.random.IntN(2) == 0) {
		op.Op = OpReceive
	}
	result := st.brings(r.length)
	r.id = s.stage(op, result)
	if result < 0 {
		st.reader = r
		return
	}
	st.take(result)
	s.reads = append(s.reads, *r)
}

func (st *stream) take(n int32) {
	st.held -= int(n)
	st.received += byte(n)
}

// write puts some bytes into a stream, by a request or by hand.
func (s *script) write(st *stream) {
	if st.ended || st.held > 2000 {
		return
	}
	b := make([]byte, 1+s.random.IntN(60))
	for i := range b {
		b[i] = st.sent
		st.sent++
	}
	n := int32(len(b))
	op := Entry{Op: OpWrite, FD: int32(st.out), Addr: pinned(s.t, b), Length: uint32(n)}
	switch way := s.random.IntN(3); {
	case way == 0:
		got, err := unix.Write(st.out, b)
		require.NoError(s.t, err)
		require.Len(s.t, b, got)
	case st.socket && (way == 1 || !isRing(s.p)):
		op.Op = OpSend
		s.stage(op, n)
	default:
		s.stage(op, n)
	}
	st.held += len(b)
	s.arrive(st)
}

// end ends a stream at the side of the writer.
func (s *script) end(st *stream) {
	if st.ended {
		return
	}
	if st.socket {
		require.NoError(s.t, unix.Shutdown(st.out, unix.SHUT_WR))
	} else {
		s.stage(Entry{Op: OpClose, FD: int32(st.out)}, 0)
	}
	st.ended = true
	s.arrive(st)
}

// arrive completes what has waited for a stream's bytes or end.
func (s *script) arrive(st *stream) {
	if r := st.reader; r != nil {
		result := st.brings(r.length)
		s.expected[r.id] = result
		st.take(result)
		st.reader = nil
		s.reads = append(s.reads, *r)
	}
	for _, id := range st.polls {
		s.expected[id] = anyEvent
	}
	st.polls = nil
}

// poll stages a request that waits for bytes, and leaves them.
func (s *script) poll(st *stream) {
	if st.reader != nil {
		return
	}
	result := anyEvent
	if st.held == 0 && !st.ended {
		result = -int32(syscall.EAGAIN)
	}
	if id := s.stage(Entry{Op: OpPoll, FD: int32(st.in), Flags: unix.POLLIN}, result); result < 0 {
		st.polls = append(st.polls, id)
	}
}

// cancelled expects all that waits for a stream to end.
func (s *script) cancelled(st *stream) {
	if r := st.reader; r != nil {
		s.expected[r.id] = -int32(syscall.ECANCELED)
		st.reader = nil
	}
	for _, id := range st.polls {
		s.expected[id] = -int32(syscall.ECANCELED)
	}
	st.polls = nil
}

// cancel stages what ends the request that waits for a stream, or a request that there is not.
func (s *script) cancel(st *stream) {
	op, result := Entry{Op: OpCancel, Offset: s.next + 1000}, -int32(syscall.ENOENT)
	switch {
	case st.reader != nil:
		op.Offset, result = st.reader.id, 0
		s.cancelled(st)
	case len(st.polls) == 1:
		op.Offset, result = st.polls[0], 0
		s.cancelled(st)
	}
	s.stage(op, result)
}

// renew closes a stream, and opens another one, most likely with the same numbers.
func (s *script) renew(i int) {
	st := s.streams[i]
	if st.reader != nil {
		s.stage(Entry{Op: OpCancel, Offset: st.reader.id}, 0)
	}
	for _, id := range st.polls {
		s.settle() // so that there is room
		s.stage(Entry{Op: OpCancel, Offset: id}, 0)
		s.expected[id] = -int32(syscall.ECANCELED)
	}
	st.polls = nil
	s.cancelled(st)
	s.settle()
	require.NoError(s.t, unix.Close(st.in))
	if !st.ended || st.socket {
		require.NoError(s.t, unix.Close(st.out))
	}
	s.streams[i] = newStream(s.t, !isRing(s.p) || s.random.IntN(2) == 0)
}

// settle makes turns until all has completed that has to, and looks at what has come of it.
func (s *script) settle() {
	for id, c := range byID(s.t, await(s.t, s.p, len(s.expected))) {
		result, is := s.expected[id]
		require.True(s.t, is, "request %d has completed with %d, and should wait", id, c.Result)
		if result == anyEvent {
			require.NoError(s.t, c.Err(), "poll %d", id)
		} else {
			require.Equal(s.t, result, c.Result, "request %d", id)
		}
	}
	for _, r := range s.reads {
		for i := range s.expected[r.id] {
			require.Equal(s.t, r.from+byte(i), r.memory[i], "byte %d of read %d", i, r.id)
		}
	}
	s.reads = nil
	clear(s.expected)
	done, err := s.p.turn(0)
	require.NoError(s.t, err)
	require.Empty(s.t, done)
}

// batch stages some requests, for a different stream each, so that their order does not matter.
func (s *script) batch() {
	for _, i := range s.random.Perm(len(s.streams))[:1+s.random.IntN(len(s.streams))] {
		st := s.streams[i]
		if s.p.room() < 4 {
			return
		}
		switch s.random.IntN(11) {
		case 0, 1, 2, 3:
			s.read(st)
		case 4, 5, 6:
			s.write(st)
		case 7:
			s.poll(st)
		case 8:
			s.cancel(st)
		case 9:
			s.end(st)
		case 10:
			s.renew(i)
		}
	}
}

// What becomes of a random sequence of requests is the same for each proxy: what the model says.
func TestRandomScript(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	batches := 500
	if testing.Short() {
		batches = 200
	}
	eachProxy(t, 16, func(t *testing.T, p staging) {
		s := &script{t: t, p: p, random: rand.New(rand.NewPCG(seed, 0)), expected: make(map[uint64]int32)}
		for range 6 {
			s.streams = append(s.streams, newStream(t, !isRing(p) || s.random.IntN(2) == 0))
		}
		for range batches {
			s.batch()
			s.settle()
		}
		for i := range s.streams {
			s.renew(i)
			require.NoError(t, unix.Close(s.streams[i].in))
			require.NoError(t, unix.Close(s.streams[i].out))
		}
	})
}
