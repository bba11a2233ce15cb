// Package queue has a queue without a lock.
package queue

import _ "fiberlab/internal/platform"
