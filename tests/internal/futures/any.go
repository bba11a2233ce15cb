package futures

// Any is a future of any type. Its task must know what it gets and returns.
type Any struct {
	state
	task     func(argument any) any
	argument any
	result   any
}

// NewAny returns a future of task for that argument, which has not started.
func NewAny(task func(argument any) any, argument any) *Any {
	return &Any{task: task, argument: argument}
}

// Get returns the result of the task. It runs the task if that has not begun, and waits for it otherwise.
func (f *Any) Get() any {
	if f.claim() {
		f.result = f.task(f.argument)
		f.complete()
	} else if f.status.Load() != completed {
		f.wait()
	}
	return f.result
}
