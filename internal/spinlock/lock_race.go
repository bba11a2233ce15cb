//go:build race

package spinlock

import "sync"

// Lock is a lock that the race detector understands: it does not see what an ordinary
// store lets go.
type Lock struct{ sync.Mutex }
