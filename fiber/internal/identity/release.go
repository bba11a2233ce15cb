//go:build !race

package identity

import "sync/atomic"

// StoreRelease stores v in p, after all that the caller has read and written before,
// as whoever loads v from p will see. Unlike p.Store it does not wait until other
// processors can see v, which on amd64 takes longer than a function call.
//
//go:noescape
func StoreRelease(p *atomic.Uint64, v uint64)
