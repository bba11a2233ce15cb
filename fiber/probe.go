package fiber

/*
#include "core.h"
*/
import "C"

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"fiberlab/fiber/internal/identity"
	"fiberlab/stack"
)

// The names of the probes that run before the first fiber is made: findWords tries the slot and
// the P, tryLife the others.
const (
	probeSlot      = "the g slot"
	probeP         = "the remembered P"
	probeLending   = "the lending of an M"
	probeBinding   = "the binding of an M"
	probeDropping  = "the dropping of an M"
	probeInterrupt = "interruption"
)

// planted is the name of a probe that is made to fail; for the tests.
var planted string

// probed is the backend of the fibers that try the runtime out.
var probed = Backends()[0]

// tryLife leads one fiber through everything that fibers demand of the runtime. The fiber is lent an M, leaves it, and
// comes back to it on another thread. It runs there without a call until it is interrupted, drops the M and is lent it
// again.
func tryLife() error {
	var own pool // so that nothing of it gets into the process's pool
	r, err := own.make(kind{backend: probed, body: goBody, stack: stack.Options{GuardPages: 1}})
	if err != nil {
		return err
	}
	life := &life{r: r}
	// Both roots are there before the fiber begins: if memory were short after that, a fiber that has begun could not
	// be discarded.
	err = onRoot(attachThread, probed, func(second *Fiber) error {
		if err := onRoot(attachThread, probed, life.begin); err != nil {
			return err
		}
		return life.end(second)
	})
	if life.begun && err != nil {
		return err // with the fiber where it failed: its frames cannot be discarded
	}
	err = errors.Join(err, r.free())
	for _, stacks := range own.stacks {
		err = errors.Join(err, stacks.Close())
	}
	return err
}

// life is the fiber that tryLife makes, and what it finds out.
type life struct {
	r           *runner
	lent, again caller
	begun       bool
	interrupted bool
}

// caller is what the runtime takes the caller for.
type caller struct{ g, m uintptr }

func whoami() caller { return caller{identity.G(), identity.M()} }

// verdict says how the runtime differs from what fibers demand.
type verdict string

func (v verdict) Error() string { return string(v) }

func failed(probe, why string) error { return verdict(probe + ": " + why) }

// enter loads the runner with a fiber and switches to it.
func (l *life) enter(root *Fiber, body func()) (*Fiber, error) {
	f := &Fiber{name: "probe", backend: probed, runner: l.r, body: body}
	l.r.load(f, Ready)
	return f, root.SwitchTo(f)
}

// begin runs the fiber's first half.
func (l *life) begin(root *Fiber) error {
	l.begun = true
	caller, answers, binds := whoami(), C.fiberlab_stack_bound_answers, C.fiberlab_binds
	C.fiberlab_narrow_tid(C.uintptr_t(caller.m))
	knowsThread := false
	_, err := l.enter(root, func() {
		l.lent = whoami()
		knowsThread = C.fiberlab_narrow_tid(C.uintptr_t(l.lent.m)) == 1
		C.fiberlab_lent(l.r.block, C.uintptr_t(l.lent.m), C.uintptr_t(l.lent.g)) // once more, as for one that knows it
		f := Current()
		if f.SwitchTo(root) == nil {
			l.again = whoami()
			for try := 0; try < 3 && !l.interrupted; try++ {
				l.interrupted = interrupted()
			}
		}
	})
	if planted == probeLending {
		l.lent = caller
	}
	switch {
	case err != nil:
		return failed(probeLending, err.Error())
	case l.lent.g == caller.g || l.lent.m == caller.m:
		return failed(probeLending, "a fiber's first call into Go came to its caller's goroutine or M")
	case C.fiberlab_stack_bound_answers == answers:
		return failed(probeLending, "the runtime did not ask for the bounds of the fiber's stack")
	case C.fiberlab_binds == binds:
		return failed(probeBinding, "the runtime did not ask for the M to be bound to the thread")
	case l.r.block.g == 0:
		return failed(probeLending, "the g slot was empty after the fiber's first call into Go")
	case !knowsThread:
		return failed(probeInterrupt, "the number of its thread was not found in an M")
	}
	return nil
}

// end runs the second half, on another thread than the first, and then a second fiber.
func (l *life) end(root *Fiber) error {
	if err := root.SwitchTo(l.r.fiber.Load()); err != nil {
		return failed(probeLending, err.Error())
	}
	if l.again != l.lent {
		return failed(probeLending, "a fiber that came back, on another thread, was another goroutine or M")
	}
	if !l.interrupted {
		return failed(probeInterrupt, "a loop without calls on a fiber held up a stop of the world until it had ended")
	}

	// The M that was dropped last is lent next, unless another thread has come in between.
	for range 10 {
		if _, err := l.enter(root, nil); err != nil {
			return failed(probeDropping, err.Error())
		}
		if l.r.block.g != 0 {
			return failed(probeDropping, "the g slot was not empty afterwards")
		}
		if err := l.r.aim(); err != nil {
			return err
		}
		l.r.entered.Store(false)
		if _, err := l.enter(root, func() { l.again = whoami() }); err != nil {
			return failed(probeDropping, err.Error())
		}
		if l.again == l.lent && planted != probeDropping {
			_, err := l.enter(root, nil)
			return err
		}
		l.lent = l.again
	}
	return failed(probeDropping, "a dropped M was not lent again")
}

// mostTurns is how often the loop of interrupted turns before it gives up. That takes some ten seconds, since on a
// loaded machine the goroutine that stops the world may have to wait for a processor.
const mostTurns = 1 << 34

// mayStarve is after how many turns it counts as well that a request has reached the caller's M. In a
// program that stops the world all the time, the goroutine that wants to may not get its turn.
const mayStarve = 1 << 28

// interrupted stops the world while the caller is in a loop without calls, and reports whether
// that took no longer than the loop does by itself.
func interrupted() bool {
	if strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1") && planted != probeInterrupt {
		return true // as the user wishes: such a loop is not interrupted in a goroutine either
	}
	var began, stop uint32 // no atomic.Bool: under the race detector its methods are calls
	go func() {
		for atomic.LoadUint32(&began) == 0 {
			runtime.Gosched()
		}
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats) // stops the world
		atomic.StoreUint32(&stop, 1)
	}()
	met := (*uint32)(unsafe.Pointer(C.fiberlab_requests_met(C.uintptr_t(identity.M()))))
	if met == nil {
		met = new(uint32)
	}
	before := atomic.LoadUint32(met)
	most := mostTurns
	if planted == probeInterrupt {
		most >>= 10
	}
	for turn := 0; turn < most; turn++ {
		if atomic.LoadUint32(&stop) != 0 || turn > mayStarve && atomic.LoadUint32(met) != before {
			return true
		}
		if turn == 100 {
			atomic.StoreUint32(&began, 1)
		}
	}
	return false
}
