package bench

import (
	"errors"

	"fiberlab/fiber"
)

// game is what a root fiber and its fibers play. Its methods are called on the root's goroutine.
type game interface {
	run(switches int) (Sample, error)
	close() error
}

// rooted is the session of a game. A root fiber belongs to a goroutine, so the session has one of its
// own that does the work, on one processor at a time.
type rooted struct {
	requests chan int
	replies  chan reply
}

type reply struct {
	sample Sample
	err    error
}

// openRooted makes a root fiber of backend b and calls start to set up the game. The root's thread is not
// pinned: it is the fibers of the goroutine backend that forbid it.
func openRooted(b fiber.Backend, start func(root *fiber.Fiber) (game, error)) (Session, error) {
	s := &rooted{make(chan int), make(chan reply)}
	go func() {
		s.replies <- reply{err: s.serve(b, start)}
	}()
	if r := <-s.replies; r.err != nil {
		return nil, r.err
	}
	return s, nil
}

func (s *rooted) Switch(n int) (Sample, error) {
	s.requests <- n
	r := <-s.replies
	return r.sample, r.err
}

func (s *rooted) Close() error {
	close(s.requests)
	return (<-s.replies).err
}

// serve replies without an error once the game is set up, and once to each request. It returns when
// there are no more requests, or when the game could not be set up.
func (s *rooted) serve(b fiber.Backend, start func(root *fiber.Fiber) (game, error)) error {
	root, err := fiber.Attach(b)
	if err != nil {
		return err
	}
	g, err := start(root)
	if err != nil {
		return errors.Join(err, root.Detach())
	}
	s.replies <- reply{}
	for n := range s.requests {
		sample, err := g.run(n)
		s.replies <- reply{sample, err}
	}
	return errors.Join(g.close(), root.Detach())
}

// end resumes f, which knows that it is to return, and closes it.
func end(root, f *fiber.Fiber) error {
	if f.State() == fiber.Suspended {
		if err := root.SwitchTo(f); err != nil {
			return err
		}
	}
	return f.Close()
}
