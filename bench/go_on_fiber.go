package bench

import (
	"errors"
	"time"

	"fiberlab/fiber"
)

// goOnFibers returns a mechanism for each backend whose fibers have stacks of this project.
func goOnFibers() (list []Mechanism) {
	for _, b := range fiber.Backends() {
		if b != fiber.Goroutine {
			list = append(list, Mechanism{
				Name: "go-on-" + b.String(), Says: "a Go function switches, with its identity, by " + b.String(),
				Open: func() (Session, error) { return openGoOnFiber(b) },
			})
		}
	}
	return list
}

func openGoOnFiber(b fiber.Backend) (Session, error) {
	return openRooted(b, func(root *fiber.Fiber) (loop, error) { return newGoPair(root, b) })
}

// goPair switches between a root fiber and a Go function on a fiber, which answers every switch with a
// switch back. It uses the public Go face and checks every error.
type goPair struct {
	root, away *fiber.Fiber
	ending     bool
	err        error // of away's switches
}

func newGoPair(root *fiber.Fiber, b fiber.Backend) (*goPair, error) {
	p := &goPair{root: root}
	away, err := fiber.New(fiber.Config{Name: "bench", Backend: b}, p.answer)
	p.away = away
	return p, err
}

func (p *goPair) answer() {
	for !p.ending && p.err == nil {
		p.err = p.away.SwitchTo(p.root)
	}
}

func (p *goPair) run(switches int) (Sample, error) {
	start := time.Now()
	for range trips(switches) {
		if err := p.root.SwitchTo(p.away); err != nil {
			return Sample{}, errors.Join(err, p.err)
		}
	}
	return Sample{2 * trips(switches), time.Since(start)}, p.err
}

func (p *goPair) close() error {
	p.ending = true
	return errors.Join(end(p.root, p.away), p.err)
}
