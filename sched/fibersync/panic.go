package fibersync

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is the panic of a function that ran on another fiber or goroutine than the caller
// that waits for it. The caller panics with it, or with an error that wraps it. It wraps Value
// if that is an error.
type PanicError struct {
	Value any    // what the function panicked with
	Stack []byte // the stack on which it did, as text
}

func (p *PanicError) Error() string {
	return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack)
}

func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// watch calls f, and then ended, whether f returns or not. ended gets nil if f returns, a
// PanicError if f has panicked, and an error that wraps ErrGoexit if f has called Goexit. A
// panic ends here; a Goexit goes on when ended has returned.
func watch(f func(), ended func(err error)) {
	returned := false
	defer func() {
		switch value := recover(); {
		case returned:
			ended(nil)
		case value == nil:
			ended(fmt.Errorf("fibersync: %w", ErrGoexit))
		default:
			ended(AsPanicError(value))
		}
	}()
	f()
	returned = true
}

// AsPanicError returns value, which recover has returned, as an error with the stack: a *PanicError, or value itself if
// it wraps one. A panic that comes from another fiber has its stack already. AsPanicError must be called while the
// frames that panicked are still there.
func AsPanicError(value any) error {
	if err, ok := value.(error); ok {
		if p := (*PanicError)(nil); errors.As(err, &p) {
			return err
		}
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}
