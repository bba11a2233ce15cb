package bench

import (
	"errors"
	"fmt"
	"time"

	"fiberlab/fiber"
)

// OpenGoRing makes a ring of n Go fibers of backend b and goes round it once. If n is less
// than 1 it returns an error; other errors come from package fiber. A Go fiber holds some 17 KB, so 100,000 of them
// take 1.7 GB.
func OpenGoRing(b fiber.Backend, n int) (Session, error) {
	if n < 1 {
		return nil, fmt.Errorf("bench: a ring of %d fibers: it needs at least 1", n)
	}
	return openRooted(b, func(root *fiber.Fiber) (loop, error) { return newGoRing(root, b, n) })
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
	members []*fiber.Fiber // the root is the last
	ending  bool
	err     error // of the members' switches
}

func newGoRing(root *fiber.Fiber, b fiber.Backend, n int) (*goRing, error) {
	r := &goRing{}
	for i := range n {
		f, err := fiber.New(fiber.Config{Name: "ring", Backend: b}, func() { r.switchToNext(i) })
		if err != nil {
			return nil, errors.Join(err, r.closeWith(root))
		}
		r.members = append(r.members, f)
	}
	r.members = append(r.members, root)
	if _, err := r.run(1); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *goRing) switchToNext(i int) {
	self, next := r.members[i], r.members[i+1]
	for !r.ending && r.err == nil {
		r.err = self.SwitchTo(next)
	}
}

func (r *goRing) run(switches int) (Sample, error) {
	n := len(r.members) - 1
	root, first := r.members[n], r.members[0]
	laps := laps(switches, n)
	start := time.Now()
	for range laps {
		if err := root.SwitchTo(first); err != nil {
			return Sample{}, errors.Join(err, r.err)
		}
	}
	return Sample{laps * (n + 1), time.Since(start)}, r.err
}

func (r *goRing) close() error {
	n := len(r.members) - 1
	root := r.members[n]
	r.members = r.members[:n]
	return r.closeWith(root)
}

func (r *goRing) closeWith(root *fiber.Fiber) error {
	r.ending = true
	err := r.err
	for _, f := range r.members {
		err = errors.Join(err, end(root, f))
	}
	return err
}
