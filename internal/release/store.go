//go:build race || !amd64

package release

import "sync/atomic"

// Store stores v in p, after all that the caller has read and written before, as a
// thread that loads v from p will see. Unlike p.Store it does not promise to wait until other
// processors can see v: so what the caller loads next may be older than what they see.
//
// On arm64 p.Store is one instruction, STLR. The race detector knows no weaker store.
func Store(p *atomic.Uint64, v uint64) { p.Store(v) }
