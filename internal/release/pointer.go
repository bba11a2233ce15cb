//go:build race || !amd64

package release

import "sync/atomic"

// StorePointer is Store for a pointer.
func StorePointer[T any](p *atomic.Pointer[T], v *T) { p.Store(v) }
