//go:build !debug

package fibersync

// holder identifies the fiber or goroutine that holds a lock, by fiber.Self; 0: none. Only
// debug builds have it; in others it is empty and its methods do nothing.
type holder struct{}

func (*holder) who() uintptr    { return 0 }
func (*holder) mayBeHere() bool { return true }
func (*holder) enter()          {}
func (*holder) leave()          {}
func (*holder) must(string)     {}
func (*holder) mustNot(string)  {}
