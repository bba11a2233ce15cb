// Package leaktest is for tests: it looks for goroutines that were left behind.
package leaktest

import (
	"time"

	"go.uber.org/goleak"
)

// timeout is how long a goroutine may take to end that is about to.
const timeout = time.Minute

// Find returns an error that names the goroutines of this process besides the caller's, if there are any that options
// do not allow. It waits up to a minute for goroutines that are about to end.
func Find(options ...goleak.Option) error {
	left := goleak.Find(options...)
	for began := time.Now(); left != nil && time.Since(began) < timeout; {
		left = goleak.Find(options...)
	}
	return left
}
