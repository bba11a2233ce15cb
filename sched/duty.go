package sched

import (
	"fmt"
	stackdump "runtime/debug"
)

// offDuty calls Config.OutOfDuty. The task of f, the calling fiber, has ended or is blocked, and the worker has not chosen yet what it
// runs next; so what the function makes ready may be next.
//
// The function runs on the stack of f and must not wait, since f may be blocked already. As long as it runs, its caller counts
// as no fiber: Wait, Sleep and Yield panic, and primitives take their caller for a goroutine and block the thread. A panic ends the program, since it must not unwind the task of f.
func (w *Worker) offDuty(f *Fiber) {
	value, self, running := f.fiber.Value(), f.self.Load(), w.running.Load()
	f.fiber.SetValue(nil)
	f.self.Store(0)
	w.running.Store(0)
	mustReturn("Config.OutOfDuty", w, func() { w.own.outOfDuty(w.id) })
	w.running.Store(running)
	f.self.Store(self)
	f.fiber.SetValue(value)
}

// mustReturn calls call, which the program has given and where calls it. If it panics, or calls Goexit, the program ends: the
// frames below it must not be unwound.
func mustReturn(name string, where fmt.Stringer, call func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		cause := recover()
		if cause == nil {
			cause = ErrGoexit
		}
		text := fmt.Sprintf("%s on %v: %v\n\n%s", name, where, cause, stackdump.Stack())
		go panic(text)
		select {}
	}()
	call()
	returned = true
}

// SetEngine gives w an engine, such as one for input and output, for Engine to return; nil takes it away. The place to call
// it is Config.Initializer, on Current().Worker(), but it may be called from anywhere. It panics with an error that
// wraps ErrNoFiber if w is none of a scheduler's.
func (w *Worker) SetEngine(engine any) {
	if !w.exists() {
		panic(fmt.Errorf("sched: set the engine of no worker: %w", ErrNoFiber))
	}
	w.engine.Store(&engine)
}

// Engine returns what SetEngine was given last, or nil. A fiber finds the engine of the worker that runs it now by
// Current().Worker().Engine(). Where fibers migrate it may be another one after each wait. It may be called from anywhere.
func (w *Worker) Engine() any {
	if w == nil {
		return nil
	}
	if engine := w.engine.Load(); engine != nil {
		return *engine
	}
	return nil
}
