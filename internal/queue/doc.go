// Package queue has a queue without a lock, and a mailbox, in which threads leave messages for another one.
package queue

import _ "fiberlab/internal/platform"
