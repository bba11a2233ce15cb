package fibersync

import (
	"fmt"
	"sync/atomic"
)

// Status is how far the work on a future has come. It only grows.
type Status uint32

const (
	NotStarted Status = iota // no caller of Claim has got it, and it has no value
	InProgress               // a caller of Claim has got it, or its function has begun
	Completed                // it has its value or its error
)

// String returns NOT_STARTED, IN_PROGRESS or COMPLETED.
func (s Status) String() string {
	switch s {
	case NotStarted:
		return "NOT_STARTED"
	case InProgress:
		return "IN_PROGRESS"
	case Completed:
		return "COMPLETED"
	}
	return fmt.Sprintf("Status(%d)", uint32(s))
}

// status is the Status of one future.
//
//	NOT_STARTED --claim--> IN_PROGRESS --complete--> COMPLETED
//	     |                                               ^
//	     +-------------------complete--------------------+
type status struct{ word atomic.Uint32 }

func (s *status) get() Status { return Status(s.word.Load()) }

// claim moves it from NotStarted to InProgress, and returns false if it is not NotStarted. Of any number
// of callers, one gets true at most.
func (s *status) claim() bool {
	return s.word.CompareAndSwap(uint32(NotStarted), uint32(InProgress))
}

// complete makes it Completed, whatever it is.
func (s *status) complete() { s.word.Store(uint32(Completed)) }

// reset makes it NotStarted, for a use that no other caller knows of yet.
func (s *status) reset() { s.word.Store(uint32(NotStarted)) }
