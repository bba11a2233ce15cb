package fibersync

import (
	"fmt"
	"sync"

	"fiberlab/sched/park"
)

// Local is a variable of which each task has a copy: flare's FiberLocal. Make one for each
// variable, for instance as a package's variable; the zero value is ready. It must not be
// copied.
//
// The value belongs to the task, not to the fiber that runs it: a task begins with no value,
// and its value is dropped when it ends. The tasks that it starts do not inherit it. A
// goroutine that a scheduler is bound to counts as one task from Bind to Unbind.
//
// A plain goroutine has no value, since Go offers nothing that ends with a goroutine: Get finds
// none, and Set panics.
//
// No method blocks. Each concerns the calling task alone, so none needs a lock.
type Local[T any] struct {
	_ sync.Mutex // gives each its own address, and go vet something to find copies by
}

// local is one value of one task. A task's fiber-local slot holds all of them, as a locals.
type local struct {
	of    any // *Local[T]
	value any // *T
}

// locals is short: a task with dozens of variables would keep them in a struct.
type locals []local

// Get returns the calling task's value and true, or false if it has none or the caller is no
// task.
func (l *Local[T]) Get() (T, bool) {
	if list := ownLocals(); list != nil {
		if v := l.find(*list); v != nil {
			return *v, true
		}
	}
	var none T
	return none, false
}

// Set sets the calling task's value. It panics with an error that wraps ErrNoFiber if
// the caller is no task.
func (l *Local[T]) Set(v T) {
	slot := park.LocalSlot()
	if slot == nil {
		panic(fmt.Errorf("fibersync: set a Local: %w", ErrNoFiber))
	}
	if *slot == nil {
		*slot = new(locals)
	}
	list := (*slot).(*locals)
	if old := l.find(*list); old != nil {
		*old = v
		return
	}
	first := v
	*list = append(*list, local{of: l, value: &first})
}

// Delete unsets the calling task's value. It does nothing if none is set.
func (l *Local[T]) Delete() {
	list := ownLocals()
	if list == nil {
		return
	}
	for i, one := range *list {
		if one.of == any(l) {
			last := len(*list) - 1
			(*list)[i] = (*list)[last]
			(*list)[last] = local{}
			*list = (*list)[:last]
			return
		}
	}
}

// find returns where the value is, or nil.
func (l *Local[T]) find(list locals) *T {
	for _, one := range list {
		if one.of == any(l) {
			return one.value.(*T)
		}
	}
	return nil
}

// ownLocals returns what the calling task has set, or nil.
func ownLocals() *locals {
	slot := park.LocalSlot()
	if slot == nil {
		return nil
	}
	list, _ := (*slot).(*locals)
	return list
}
