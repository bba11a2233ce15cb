package crash

const panicText = "boom 42"

// Panic panics. RequirePanic looks for its frame.
//
//go:noinline
func Panic() { panic(panicText) }

// PanicWith panics with value. The stack must show its frame, crash.PanicWith.
//
//go:noinline
func PanicWith(value any) { panic(value) }
