package schedtest

import "sync"

// Journal is a list that many threads write.
type Journal[T any] struct {
	mu   sync.Mutex
	list []T
}

// Add appends v.
func (j *Journal[T]) Add(v T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = append(j.list, v)
}

// All returns what has been written.
func (j *Journal[T]) All() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]T(nil), j.list...)
}

// Distinct returns how many different values there are in list.
func Distinct[T comparable](list []T) int {
	set := make(map[T]struct{})
	for _, v := range list {
		set[v] = struct{}{}
	}
	return len(set)
}
