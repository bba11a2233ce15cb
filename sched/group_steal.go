package sched

import "container/heap"

// victims are the other groups that a worker steals from, ordered by when it looks there next.
type victims struct {
	looks int // how often the worker has found nothing in its own group
	queue victimQueue
}

// victim is one of them.
type victim struct {
	from  *group
	every int // it is looked at each so many times
	next  int // at this count of looks
}

func (v *victims) add(from *group, every int) {
	heap.Push(&v.queue, victim{from: from, every: every, next: every})
}

// steal takes one thing from a group whose turn has come, and tells whether it did. A group that had something stays where it
// is: perhaps it has more.
func (v *victims) steal() (r runnable, ok bool) {
	if len(v.queue) == 0 {
		return r, false
	}
	for v.looks++; v.queue[0].next <= v.looks; {
		top := &v.queue[0]
		if r, ok = top.from.shared.steal(); ok {
			return r, true
		}
		top.next += top.every
		heap.Fix(&v.queue, 0)
	}
	return r, false
}

// victimQueue implements heap.Interface.
type victimQueue []victim

func (q victimQueue) Len() int           { return len(q) }
func (q victimQueue) Less(i, j int) bool { return q[i].next < q[j].next }
func (q victimQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *victimQueue) Push(v any)        { *q = append(*q, v.(victim)) }

func (q *victimQueue) Pop() any {
	last := len(*q) - 1
	v := (*q)[last]
	*q = (*q)[:last]
	return v
}
