//go:build !race

package release

import (
	"sync/atomic"
	"unsafe"
)

// Store is explained in store.go. On amd64 each ordinary store of 8 bytes is a release: the processor lets no earlier
// load or store pass it. Nor does the compiler, which keeps stores in order and all loads before the next store.
func Store(p *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(p)) = v }
