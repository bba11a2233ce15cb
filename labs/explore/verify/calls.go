package verify

import (
	"strconv"
	"strings"

	"fiberlab/labs/explore"
)

// order is a memory order, as compilers number them.
type order int

const (
	relaxed order = iota
	_             // consume, which compilers take for acquire
	acquire
	release
	acqRel
	seqCst
)

func (o order) acquires() bool { return o != relaxed && o != release }
func (o order) releases() bool { return o >= release }

func (o order) String() string { return []string{"rlx", "acq", "acq", "rel", "acq_rel", "sc"}[o] }

// call does, in place of a function of the runtime, what that function would do for thread t.
type call func(e *execution, t *thread) error

// callNamed returns the call of the function of that name. Not all functions of the runtime are for programs to call.
func callNamed(name string) (c call, known bool) {
	if c, known = calls[name]; known {
		return c, true
	}
	if rest, is := strings.CutPrefix(name, "__tsan_atomic"); is {
		bits, what, _ := strings.Cut(rest, "_")
		size, err := strconv.Atoi(bits)
		if err != nil {
			return nil, false
		}
		return atomicCall(what, size/8)
	}
	rest, is := strings.CutPrefix(name, "__tsan_")
	if !is {
		return nil, false
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "unaligned_"), "volatile_")
	for _, access := range []struct {
		prefix      string
		read, write bool
	}{{"read_write", true, true}, {"read", true, false}, {"write", false, true}} {
		bytes, is := strings.CutPrefix(rest, access.prefix)
		if !is || bytes == "" {
			continue
		}
		size, err := strconv.ParseUint(bytes, 10, 8)
		return func(e *execution, t *thread) error {
			size := size
			if bytes == "_range" {
				size = e.arg(t, 1, 8)
			}
			if access.read {
				if err := e.plain(t, e.arg(t, 0, 8), size, false); err != nil {
					return err
				}
			}
			if access.write {
				if err := e.plain(t, e.arg(t, 0, 8), size, true); err != nil {
					return err
				}
			}
			return e.done(t)
		}, err == nil || bytes == "_range"
	}
	return nil, false
}

// rmw are the results of the atomic operations that read and write.
var rmw = map[string]func(old, operand uint64) uint64{
	"exchange":   func(_, operand uint64) uint64 { return operand },
	"fetch_add":  func(old, operand uint64) uint64 { return old + operand },
	"fetch_sub":  func(old, operand uint64) uint64 { return old - operand },
	"fetch_and":  func(old, operand uint64) uint64 { return old & operand },
	"fetch_or":   func(old, operand uint64) uint64 { return old | operand },
	"fetch_xor":  func(old, operand uint64) uint64 { return old ^ operand },
	"fetch_nand": func(old, operand uint64) uint64 { return ^(old & operand) },
}

// atomicCall returns what an atomic access of that size does.
func atomicCall(what string, size int) (c call, known bool) {
	compute := rmw[what]
	switch {
	case compute != nil:
		return func(e *execution, t *thread) error {
			return e.access(t, "rmw", 0, size, 2, -1, func(x *object, s *explore.Step, o order) error {
				old := x.stores[len(x.stores)-1].value
				s.Value, s.Stored = &old, new(uint64)
				*s.Stored = cut(compute(old, e.arg(t, 1, size)), size)
				e.read(t, x, len(x.stores)-1, o)
				if *s.Stored != old {
					e.changed(t)
				}
				if err := e.write(t, x, *s.Stored, o, true); err != nil {
					return err
				}
				return e.done(t, old)
			})
		}, true
	case what == "load":
		return func(e *execution, t *thread) error {
			return e.access(t, "load", 0, size, 1, -1, func(x *object, s *explore.Step, o order) error {
				newest := len(x.stores) - 1
				back := e.choose.back(newest - e.oldest(t, x, o == seqCst) + 1)
				if back > 0 {
					e.script = append(e.script, byte('a'+back-1))
				}
				e.read(t, x, newest-back, o)
				s.Value = &x.stores[newest-back].value
				return e.done(t, *s.Value)
			})
		}, true
	case what == "store":
		return func(e *execution, t *thread) error {
			return e.access(t, "store", 0, size, 2, -1, func(x *object, s *explore.Step, o order) error {
				value := e.arg(t, 1, size)
				s.Stored = &value
				e.changed(t)
				if err := e.write(t, x, value, o, false); err != nil {
					return err
				}
				return e.done(t)
			})
		}, true
	case strings.HasPrefix(what, "compare_exchange_"):
		return func(e *execution, t *thread) error { return e.compareExchange(t, what, size) }, true
	}
	return nil, false
}

// orderOf returns an argument that is a memory order.
func (e *execution) orderOf(t *thread, i int) (order, error) {
	o := order(int32(e.arg(t, i, 4)))
	if o < relaxed || o > seqCst {
		return 0, e.fault("limit", "Thread %d uses the memory order %d, which there is not.", t.number, o)
	}
	return o, nil
}

// access is a visible step that accesses memory atomically: its arguments with these numbers are the address and the
// orders; failing is -1 if there is one order. do is the step itself.
func (e *execution) access(
	t *thread, op string, at, size, ordered, failing int, do func(x *object, s *explore.Step, o order) error,
) error {
	o, err := e.orderOf(t, ordered)
	if err == nil && failing >= 0 {
		_, err = e.orderOf(t, failing)
	}
	if err != nil {
		return err
	}
	address := e.arg(t, at, 8)
	if err := e.checkHeap(t, address, uint64(size)); err != nil {
		return err
	}
	return e.visible(t, nil, func() error {
		if err := e.checkHeap(t, address, uint64(size)); err != nil { // others may have freed it since
			return err
		}
		e.tick(t)
		e.step(explore.Step{
			Thread: t.number, PC: explore.Address(t.pc), Op: op, Order: o.String(), Address: explore.Address(address),
			Size: size,
		})
		x, err := e.atomic(t, address, size, op != "load")
		if err != nil {
			return err
		}
		return do(x, &e.steps[len(e.steps)-1], o)
	})
}

func (e *execution) compareExchange(t *thread, what string, size int) error {
	return e.access(t, "cas", 0, size, 3, 4, func(x *object, s *explore.Step, o order) error {
		byValue := what == "compare_exchange_val"
		expected, desired := e.arg(t, 1, size), e.arg(t, 2, size)
		at := e.arg(t, 1, 8)
		if !byValue {
			var err error
			if expected, err = e.value(at, size); err != nil {
				return err
			}
		}
		newest := len(x.stores) - 1
		old := x.stores[newest].value
		s.Value = &old
		equal := old == expected
		if equal && what == "compare_exchange_weak" && !t.failed && e.choose.fails() {
			t.failed, equal = true, false
			e.script = append(e.script, 'z')
		}
		if !equal {
			o, _ = e.orderOf(t, 4)
		}
		e.read(t, x, newest, o)
		if equal {
			s.Stored = &desired
			if desired != old {
				e.changed(t)
			}
			if err := e.write(t, x, desired, o, true); err != nil {
				return err
			}
		}
		switch {
		case byValue:
			return e.done(t, old)
		case equal:
			return e.done(t, 1)
		}
		if err := e.set(at, size, old); err != nil {
			return err
		}
		return e.done(t, 0)
	})
}

// note is a step that touches no memory of the program.
func (e *execution) note(t *thread, op string, stored ...uint64) {
	s := explore.Step{Thread: t.number, PC: explore.Address(t.pc), Op: op}
	if len(stored) > 0 {
		s.Stored = &stored[0]
	}
	e.step(s)
}

// calls are the other functions of the runtime that a program may call.
var calls map[string]call

func init() {
	calls = map[string]call{
		"__tsan_atomic_thread_fence": (*execution).callFence,
		"__tsan_atomic_signal_fence": func(e *execution, t *thread) error { return e.done(t) },

		"explore_start":      (*execution).callStart,
		"explore_join":       (*execution).callJoin,
		"explore_self":       func(e *execution, t *thread) error { return e.done(t, uint64(t.number)) },
		"explore_check":      (*execution).callCheck,
		"explore_choose":     (*execution).callChoose,
		"explore_outcome":    func(e *execution, t *thread) error { return e.done(t) },
		"explore_lock":       (*execution).callLock,
		"explore_trylock":    (*execution).callTrylock,
		"explore_unlock":     (*execution).callUnlock,
		"explore_park":       func(e *execution, t *thread) error { return e.park(t, false) },
		"explore_park_until": func(e *execution, t *thread) error { return e.park(t, true) },
		"explore_unpark":     (*execution).callUnpark,
		"explore_yield":      (*execution).callYield,
		"explore_put":        (*execution).callPut,
		"thread_endless":     (*execution).callEndless,
		"explore_take":       (*execution).callTake,

		"__wrap_malloc": func(e *execution, t *thread) error {
			return e.give(t, e.arg(t, 0, 8), unit, 0xa5)
		},
		"__wrap_calloc":        (*execution).callCalloc,
		"__wrap_aligned_alloc": (*execution).callAligned,
		"__wrap_realloc":       (*execution).callRealloc,
		"__wrap_free":          (*execution).callFree,
		"__wrap_memcpy":        (*execution).callCopy,
		"__wrap_memmove":       (*execution).callCopy,
		"__wrap_memset":        (*execution).callSet,

		"__wrap_abort": func(e *execution, t *thread) error {
			return e.fault("abort", "Thread %d calls abort.", t.number)
		},
		"__wrap_exit": func(e *execution, t *thread) error {
			return e.fault("abort", "Thread %d calls exit.", t.number)
		},
		"__wrap___assert_fail": func(e *execution, t *thread) error {
			claim := e.text(e.arg(t, 0, 8))
			return e.fault("abort", "An assertion fails: %s.", claim)
		},
	}
}
