package bench

import (
	"errors"

	"fiberlab/fiber"
)

// loop is what a root fiber does with its fibers. Its methods are called on the root's goroutine.
type loop interface {
	run(switches int) (Sample, error)
	close() error
}

// rooted is the session of a loop. A root fiber belongs to a goroutine, so the session starts a goroutine
// that does all of the work.
type rooted struct {
	requests chan int
	replies  chan reply
}

type reply struct {
	sample Sample
	err    error
}

// openRooted makes a root fiber of backend b and calls start to set up the loop. The root's thread is not
// pinned: that would lock the goroutine to it, which the goroutine backend forbids after Attach.
func openRooted(b fiber.Backend, start func(root *fiber.Fiber) (loop, error)) (Session, error) {
	s := &rooted{make(chan int), make(chan reply)}
	go func() {
		s.replies <- reply{err: s.serve(b, start)}
	}()
	if r := <-s.replies; r.err != nil {
		return nil, r.err
	}
	return s, nil
}

func (s *rooted) Run(n int) (Sample, error) {
	s.requests <- n
	r := <-s.replies
	return r.sample, r.err
}

func (s *rooted) Close() error {
	close(s.requests)
	return (<-s.replies).err
}

// serve replies without an error when the loop is set up, and then once to each request. It returns when
// there are no more requests, or if the loop could not be set up.
func (s *rooted) serve(b fiber.Backend, start func(root *fiber.Fiber) (loop, error)) error {
	root, err := fiber.Attach(b)
	if err != nil {
		return err
	}
	l, err := start(root)
	if err != nil {
		return errors.Join(err, root.Detach())
	}
	s.replies <- reply{}
	for n := range s.requests {
		sample, err := l.run(n)
		s.replies <- reply{sample, err}
	}
	return errors.Join(l.close(), root.Detach())
}

// end resumes f, whose body then returns, and closes it.
func end(root, f *fiber.Fiber) error {
	if f.State() == fiber.Suspended {
		if err := root.SwitchTo(f); err != nil {
			return err
		}
	}
	return f.Close()
}
