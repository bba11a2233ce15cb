package sched

import stackdump "runtime/debug"

// execute calls the function of a task on f, the calling fiber. Afterwards nothing of the task is left on f, which
// may have come to another worker.
func (f *Fiber) execute(t job) {
	w := f.worker.Load()
	if d := w.scheduler.drops.Load(); d != nil && t.Flags&Helper == 0 && d.drop(w.scheduler, t) {
		return
	}
	w.tasks.add(1)
	w.release(t)
	f.groupLocal = t.Flags&GroupLocal != 0
	migrates := f.home == nil
	if migrates && t.Flags&SameThread != 0 {
		f.home = w
	}
	if f.begins(t.name); f.record != nil {
		f.record.begin(f, w.scheduler.names.of(t.name))
	}
	returned := false
	defer func() {
		if f.hook != nil {
			f.hook = nil
		}
		if !returned {
			f.failed(recover())
		}
		if f.local != nil {
			f.local = nil
		}
		f.residue.Clear()
		f.ends()
		f.worker.Load().tasksDone.add(1)
		if migrates {
			f.home = nil
		}
		if f.record != nil {
			f.record.end(f)
		}
	}()
	f.task.Begin(t.Func)
	t.Func()
	returned = true
}

// failed deals with a task that did not return: it panicked with value, or called
// Goexit if that is nil. It runs on top of the task's frames.
func (f *Fiber) failed(value any) {
	if value == nil {
		panic(ErrGoexit)
	}
	handler := f.maker.scheduler.cfg.Panicked
	if handler == nil {
		panic(value)
	}
	handler(value, stackdump.Stack())
}

// NameTask gives the calling task a name, as Task.Name does, from now on. It is for tasks that other code has
// enqueued. It does nothing if the caller is no fiber of a scheduler. It does not block.
func NameTask(name string) {
	f := Current()
	if f == nil {
		return
	}
	names := &f.maker.scheduler.names
	number := names.number(name)
	if f.begins(number); f.record != nil {
		f.record.rename(f, names.of(number))
	}
}
