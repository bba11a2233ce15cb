//go:build race

package spinlock

import "sync"

// Lock is a lock that the race detector understands: it does not see an unlock by an ordinary store.
type Lock struct{ sync.Mutex }
