//go:build race

package identity

import "sync/atomic"

// StoreRelease is p.Store under the race detector, which knows no weaker one.
func StoreRelease(p *atomic.Uint64, v uint64) { p.Store(v) }
