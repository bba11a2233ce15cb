package crash

const panicText = "boom 42"

// Panic panics. RequirePanic looks for its frame.
//
//go:noinline
func Panic() { panic(panicText) }

// PanicWith panics with value. Its frame, crash.PanicWith, is to be seen in the stack.
//
//go:noinline
func PanicWith(value any) { panic(value) }
