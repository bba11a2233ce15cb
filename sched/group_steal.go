package sched

import "container/heap"

// Workers of a group that have nothing to do steal from the shared queues of other groups. A worker that spins looks at
// each of them as often as Groups.StealEvery says, and before it sleeps it looks at all.
//
// So what waits in a group whose workers are busy must wake a worker of another group if one sleeps there. The order is
// as in masks: the submitter queues it, and then loads the masks of its own group and of the thieves. A thief sets its
// bit, and then looks at the queues of its own group and of the victims.

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

// addVictim has each worker of g steal from another group.
func (g *group) addVictim(from *group, every int) {
	for _, m := range g.members {
		m.victims.add(from, every)
	}
	from.thieves = append(from.thieves, g)
}

func (v *victims) add(from *group, every int) {
	heap.Push(&v.queue, victim{from: from, every: every, next: every})
}

// steal takes one thing from a group whose turn has come, and reports whether it did. A group that had something stays
// where it is: perhaps it has more.
func (v *victims) steal() (r runnable, ok bool) {
	if len(v.queue) == 0 {
		return r, false
	}
	for v.looks++; v.queue[0].next <= v.looks; {
		top := &v.queue[0]
		if r, ok = top.from.shared.steal(); ok {
			return r, true
		}
		missed := (v.looks - top.next) / top.every // its turns while the worker found something at each look
		top.next += (missed + 1) * top.every
		heap.Fix(&v.queue, 0)
	}
	return r, false
}

// stealAny is steal from all groups, whether their turn has come or not.
func (v *victims) stealAny() (r runnable, ok bool) {
	for i := 0; i < len(v.queue) && !ok; i++ {
		r, ok = v.queue[i].from.shared.steal()
	}
	return r, ok
}

// wake wakes a worker for each group that has something to steal.
func (v *victims) wake() {
	for i := range v.queue {
		if from := v.queue[i].from; from.shared.offers() {
			from.wakeAny()
		}
	}
}

// steal brings worker i something from another group: if it is time to look there, or in the last look before it
// sleeps. It counts that first, as takeOver does. Worker i may take something else, and be busy with that for long. So
// what it brings goes to the shared queue, from where workers of all groups take it.
func (g *group) steal(i int, last bool) bool {
	m := g.members[i]
	r, ok := m.victims.steal()
	if !ok && last {
		r, ok = m.victims.stealAny()
	}
	if ok {
		m.across.add(1)
		g.workers[i].stolen.add(1)
		g.shared.put(r, true)
	}
	return ok
}

// wakeFor wakes a worker for something that has just been queued: one of the group, or of a group that steals from it,
// unless that is local to the group. It reports whether there was one, and counts what finds all workers busy.
func (g *group) wakeFor(local bool) bool {
	woken := g.wakeOne() || !local && g.wakeThief()
	if !woken {
		g.wakes.none.Add(1)
	}
	return woken
}

// wakeAny wakes a worker of the group. If none is idle, and the shared queue has something to steal, it wakes one of a
// group that steals.
func (g *group) wakeAny() {
	if !g.wakeOne() && len(g.thieves) > 0 && g.shared.offers() {
		g.wakeThief()
	}
}

// wakeThief wakes a worker of a group that steals from g, and reports whether one was idle. The worker may find
// something in its own group first. So it learns before that it was called: see group.found.
func (g *group) wakeThief() bool {
	for _, thief := range g.thieves {
		if thief.anyIdle() {
			thief.called.Store(true)
			if thief.wakeOne() {
				return true
			}
		}
	}
	return false
}

// uncover wakes a thief for what waited behind an entry that is local to the group: it has been refused to thieves
// until now.
func (g *group) uncover() {
	if g.shared.offers() {
		g.wakeThief()
	}
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
