//go:build iofaults

package uring

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// faulty is a proxy that makes faults: it does what a kernel may do, but far more often. Another proxy does the work.
// With the build tag iofaults, each engine has a faulty proxy. Then every test of connections and files also tests how
// the code deals with these faults.
//
//	short     reads and writes transfer less than they could
//	again     a read, write or accept ends with EAGAIN, before it has begun
//	signal    or it ends with EINTR
//	end       a multishot request ends although more is to come; a receive may end with ENOBUFS
//	late      completions come some turns later; those of one request stay in their order
//	full      stage has no room
//	nothing   a turn does not wait, and may return nothing
//	unable    the proxy lacks abilities other than Files
//
// FIBERLAB_IO_FAULTS chooses some of them by name, and FIBERLAB_SEED repeats a run.
type faulty struct {
	proxy
	random *rand.Rand
	able   [abilities]bool

	late   []Completion // in the order in which they came
	out    []Completion // what the last turn has returned
	many   map[uint64]Op
	ending map[uint64]bool // those of many that have been cancelled
	own    uint64          // numbers of the cancellations
}

// ownIDs is the first of the numbers whose completions a ring does not return: FIBERLAB_OWN_IDS in ring.h, the number
// of the ring's own request.
const ownIDs = 1 << 63

// faultKinds are the kinds of faults that are made.
var faultKinds = sync.OnceValue(func() map[string]bool {
	text := os.Getenv("FIBERLAB_IO_FAULTS")
	if text == "" {
		text = "short,again,signal,end,late,full,nothing,unable"
	}
	kinds := make(map[string]bool)
	for _, kind := range strings.Split(text, ",") {
		kinds[kind] = true
	}
	return kinds
})

// faultSeed is the seed of this run, which it prints if it was not given.
var faultSeed = sync.OnceValue(func() uint64 {
	seed, err := strconv.ParseUint(os.Getenv("FIBERLAB_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
		fmt.Fprintf(os.Stderr, "faulty proxies: FIBERLAB_SEED=%d\n", seed)
	}
	return seed
})

var faultyProxies atomic.Uint64

// withFaults returns a proxy that makes faults, and leaves the work to p.
func withFaults(p proxy) proxy {
	f := &faulty{
		proxy: p, random: rand.New(rand.NewPCG(faultSeed(), faultyProxies.Add(1))),
		many: make(map[uint64]Op), ending: make(map[uint64]bool),
	}
	for i := range f.able {
		f.able[i] = Ability(i) == Files || !f.rolls("unable", 3)
	}
	return f
}

// rolls reports whether to make a fault of that kind now: at random, once in n calls on average, if kind is chosen.
func (f *faulty) rolls(kind string, n int) bool {
	return f.random.IntN(n) == 0 && faultKinds()[kind]
}

func (f *faulty) can(a Ability) bool { return f.able[a] && f.proxy.can(a) }

func (f *faulty) stage(e Entry) bool {
	if f.rolls("full", 8) {
		return false
	}
	data := e.Op == OpRead || e.Op == OpWrite || e.Op == OpSend || e.Op == OpReceive
	if e.How == 0 {
		switch {
		case (data || e.Op == OpAccept) && f.rolls("again", 12):
			f.late = append(f.late, Completion{id: e.id, Result: -int32(syscall.EAGAIN)})
			return true
		case (data || e.Op == OpAccept) && f.rolls("signal", 12):
			f.late = append(f.late, Completion{id: e.id, Result: -int32(syscall.EINTR)})
			return true
		case data && e.Length > 1 && f.rolls("short", 3):
			e.Length = 1 + uint32(f.random.Int64N(int64(e.Length)))
		}
	}
	if !f.proxy.stage(e) {
		return false
	}
	if e.How&Multishot != 0 {
		f.many[e.id] = e.Op
	}
	return true
}

func (f *faulty) ready() bool { return len(f.late) > 0 || f.proxy.ready() }

func (f *faulty) turn(limit time.Duration) ([]Completion, error) {
	return f.collect(limit, f.proxy.turn)
}

func (f *faulty) idle(limit time.Duration) ([]Completion, error) {
	return f.collect(limit, f.proxy.idle)
}

// collect calls turn, the proxy's turn or idle. It returns some completions, chosen at random; the others stay late.
func (f *faulty) collect(limit time.Duration, turn func(time.Duration) ([]Completion, error)) ([]Completion, error) {
	if len(f.late) > 0 || limit != 0 && f.rolls("nothing", 8) {
		turn, limit = f.proxy.turn, 0
	}
	done, err := turn(limit)
	if err != nil {
		return nil, err
	}
	for _, c := range done {
		f.came(c)
	}
	f.out = f.out[:0]
	held := make(map[uint64]bool) // later completions wait for earlier ones
	waiting := f.late[:0:0]
	for _, c := range f.late {
		if held[c.id] || f.rolls("late", 3) {
			held[c.id] = true
			waiting = append(waiting, c)
		} else {
			f.out = append(f.out, c)
		}
	}
	f.late = waiting
	return f.out, nil
}

// came takes a completion c of the other proxy, and cancels some multishot requests. A request that
// it has cancelled does not end with ECANCELED, but with its last late completion, or with EAGAIN or (receive) ENOBUFS.
func (f *faulty) came(c Completion) {
	op, many := f.many[c.id]
	switch ending := f.ending[c.id]; {
	case !many:
	case !c.More():
		delete(f.many, c.id)
		delete(f.ending, c.id)
		if !ending || c.Result != -int32(syscall.ECANCELED) {
			break
		}
		for i := len(f.late) - 1; i >= 0; i-- {
			if f.late[i].id == c.id {
				f.late[i].Flags &^= MoreToCome
				return
			}
		}
		c.Result = -int32(syscall.EAGAIN)
		if op == OpReceive {
			c.Result = -int32(syscall.ENOBUFS)
		}
	case !ending && c.Result >= 0 && f.rolls("end", 6):
		f.own++
		f.ending[c.id] = f.proxy.stage(Entry{id: ownIDs | f.own, Op: OpCancel, Offset: c.id})
	}
	f.late = append(f.late, c)
}
