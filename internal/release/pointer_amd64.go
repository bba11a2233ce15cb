//go:build !race

package release

import (
	"sync/atomic"
	"unsafe"
)

// StorePointer is Store for a pointer. The compiler adds the collector's write barrier, as to every store of a
// pointer.
func StorePointer[T any](p *atomic.Pointer[T], v *T) { *(**T)(unsafe.Pointer(p)) = v }
