package fibersync

// Several primitives have a channel that is closed when they are done, for goroutines that select.
// It is made when it is first asked for; until then it costs its primitive one word.

// closed is a channel that is closed.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// doneChannel returns the channel in *c, made now if there is none; if done is set, a closed one.
// The mu of the primitive that *c belongs to must be held.
func doneChannel(c *chan struct{}, done bool) <-chan struct{} {
	if done {
		return closed
	}
	if *c == nil {
		*c = make(chan struct{})
	}
	return *c
}

// closeDone closes c unless it is nil. The caller should hold no mu.
func closeDone(c chan struct{}) {
	if c != nil {
		close(c)
	}
}
