package fiber

import (
	"errors"
	"fmt"
)

// Prewarm fills the pool with n idle runners for Go bodies of cfg, each
// with its identity, and raises the pool's limit for them to n. A fiber that New
// then makes costs about a microsecond. Prewarm blocks some 15 us for
// each runner that is missing, a microsecond on Goroutine.
// It returns the errors of New, an error about n if n is negative and, on a hand-switched backend, an error while
// packages are initialised. It may be called from any goroutine.
func Prewarm(cfg Config, n int) error {
	if n < 0 {
		return &Error{"prewarm", cfg.Name, fmt.Errorf("%d runners: give a number that is not negative", n)}
	}
	k, err := cfg.kind(goBody)
	if err != nil {
		return &Error{"prewarm", cfg.Name, err}
	}
	if k.backend.handSwitched() && !known.Load() {
		return &Error{"prewarm", cfg.Name, errors.New("packages are being initialised: call it from main")}
	}
	p := &runners
	p.mu.Lock()
	idle := p.of(k)
	idle.most, idle.prewarmed = max(idle.most, n), max(idle.prewarmed, n)
	p.count(k, 0)
	p.mu.Unlock()
	return onRoot(attach, k.backend, func(root *Fiber) error {
		var errs []error
		var fibers []*Fiber
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
