package sched

import "sync"

// nameNumber stands for the name of a task; 0 for none.
type nameNumber uint32

// mostNames is how many names of tasks a scheduler distinguishes. Further ones are none.
const mostNames = 1024

// names are the names that a scheduler has met. The zero value has met none.
type names struct {
	mu      sync.Mutex // held for moments, and nothing is locked meanwhile
	numbers map[string]nameNumber
	list    []string // the first has number 1
}

// number returns that of the name, always the same one.
func (n *names) number(name string) nameNumber {
	n.mu.Lock()
	defer n.mu.Unlock()
	number, known := n.numbers[name]
	if !known && name != "" && len(n.list) < mostNames {
		if n.numbers == nil {
			n.numbers = make(map[string]nameNumber)
		}
		n.list = append(n.list, name)
		number = nameNumber(len(n.list))
		n.numbers[name] = number
	}
	return number
}

// of returns the name that has the number.
func (n *names) of(number nameNumber) string {
	if number == 0 {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.list[number-1]
}
