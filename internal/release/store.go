//go:build !race

package release

import "sync/atomic"

// Store stores v in p, after all that the caller has read and written before, as whoever
// loads v from p will see. Unlike p.Store it does not wait until other processors can see v,
// which on amd64 takes longer than a function call: so what the caller loads next may be
// older than what they see.
//
//go:noescape
func Store(p *atomic.Uint64, v uint64)
