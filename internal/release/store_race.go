//go:build race

package release

import "sync/atomic"

// Store is p.Store under the race detector, which knows no weaker one.
func Store(p *atomic.Uint64, v uint64) { p.Store(v) }
