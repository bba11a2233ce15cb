package bench

import (
	"errors"
	"fmt"
	"time"

	"fiberlab/fiber"
)

// OpenGoRing makes a ring of n Go fibers of backend b: each switches to the next, and the last one to the root. That is
// the goroutine that calls Run, which must be no fiber. Run makes the fibers, goes round once before it measures, and
// closes them; its errors come from package fiber. If n is less than 1 OpenGoRing returns an error. A Go fiber holds
// some 17 KB, so 100,000 of them take 1.7 GB.
func OpenGoRing(b fiber.Backend, n int) (Session, error) {
	if n < 1 {
		return nil, fmt.Errorf("bench: a ring of %d fibers: it needs at least 1", n)
	}
	return &goRing{backend: b, n: n}, nil
}

// goOnFibers returns a mechanism for each backend whose fibers have stacks of this project: a ring of one fiber and its
// root, which are Go functions.
func goOnFibers() (list []Mechanism) {
	for _, b := range fiber.Backends() {
		if b != fiber.Goroutine {
			list = append(list, Mechanism{
				Name: "go-on-" + b.String(), Says: "a Go function switches, with its identity, by " + b.String(),
				Open: func() (Session, error) { return OpenGoRing(b, 1) },
			})
		}
	}
	return list
}

// goRing switches round n Go functions on fibers and the root.
type goRing struct {
	backend fiber.Backend
	n       int
	members []*fiber.Fiber // of this run: the root is the last
	ending  bool
	err     error // of the members' switches
}

func (r *goRing) Run(switches int) (s Sample, err error) {
	root, err := fiber.Attach(r.backend)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, r.end(root), root.Detach()) }()
	for i := range r.n {
		f, err := fiber.New(fiber.Config{Name: "ring", Backend: r.backend}, func() { r.switchToNext(i) })
		if err != nil {
			return s, err
		}
		r.members = append(r.members, f)
	}
	r.members = append(r.members, root)
	laps := laps(switches, r.n)
	if err := r.goRound(root, 1); err != nil {
		return s, err
	}
	start := time.Now()
	err = r.goRound(root, laps)
	return Sample{laps * (r.n + 1), time.Since(start)}, err
}

func (r *goRing) goRound(root *fiber.Fiber, laps int) error {
	first := r.members[0]
	for range laps {
		if err := root.SwitchTo(first); err != nil {
			return errors.Join(err, r.err)
		}
	}
	return r.err
}

func (r *goRing) switchToNext(i int) {
	self, next := r.members[i], r.members[i+1]
	for !r.ending && r.err == nil {
		r.err = self.SwitchTo(next)
	}
}

// end resumes each fiber, whose body then returns, and closes it.
func (r *goRing) end(root *fiber.Fiber) (err error) {
	r.ending = true
	for _, f := range r.members[:min(r.n, len(r.members))] {
		if f.State() == fiber.Suspended {
			err = errors.Join(err, root.SwitchTo(f))
		}
		err = errors.Join(err, f.Close())
	}
	r.members, r.ending, r.err = nil, false, nil
	return err
}

func (r *goRing) Close() error { return nil }
