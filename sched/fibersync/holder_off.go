//go:build !debug

package fibersync

// holder is who holds a lock: a fiber or a goroutine, by its number, or 0. Debug builds
// have it; in others it is empty and its methods do nothing.
type holder struct{}

func (*holder) who() uintptr   { return 0 }
func (*holder) enter()         {}
func (*holder) leave()         {}
func (*holder) must(string)    {}
func (*holder) mustNot(string) {}
