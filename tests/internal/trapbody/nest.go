package trapbody

// Nest calls f through depth C functions, each of which calls Go.
func Nest(depth int, f func()) {
	if depth == 0 {
		f()
		return
	}
	Call(func() { Nest(depth-1, f) })
}
