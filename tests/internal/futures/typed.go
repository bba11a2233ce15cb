package futures

// Typed is a future of a task with an argument of type A and a result of type R.
type Typed[A, R any] struct {
	state
	task     func(argument A) R
	argument A
	result   R
}

// NewTyped returns a future of task for that argument, which has not started.
func NewTyped[A, R any](task func(argument A) R, argument A) *Typed[A, R] {
	return &Typed[A, R]{task: task, argument: argument}
}

// Get returns the result of the task. It runs the task if that has not begun, and waits for it otherwise.
func (f *Typed[A, R]) Get() R {
	if f.claim() {
		f.result = f.task(f.argument)
		f.complete()
	} else if f.status.Load() != completed {
		f.wait()
	}
	return f.result
}
