package fiber

import (
	"errors"
	"fmt"
)

// Prewarm makes sure that n carriers for Go bodies of cfg idle in the pool, each
// with its identity, and raises the pool's bound for them to n. A fiber that is
// then made by New costs about a microsecond. It blocks meanwhile: some 15 us for
// each carrier that is missing, a microsecond on Goroutine.
// It returns the errors of New.
func Prewarm(cfg Config, n int) error {
	if n < 0 {
		return &Error{"prewarm", cfg.Name, fmt.Errorf("%d carriers: give a number that is not negative", n)}
	}
	k, err := cfg.kind(goBody)
	if err != nil {
		return &Error{"prewarm", cfg.Name, err}
	}
	p := &carriers
	p.mu.Lock()
	idle := p.of(k)
	idle.most = max(idle.most, n)
	p.count(k, 0)
	p.mu.Unlock()
	return onRoot(k.backend, func(root *Fiber) error {
		var errs []error
		fibers := make([]*Fiber, 0, n)
		for range n {
			f, err := New(cfg, func() {})
			if err == nil {
				fibers = append(fibers, f)
				err = root.SwitchTo(f)
			}
			if err != nil {
				errs = append(errs, err)
				break
			}
		}
		for _, f := range fibers {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	})
}
