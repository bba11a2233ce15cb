package sched

var _ batching = (*groups)(nil)

// submitAll queues tasks in the caller's group; for a caller outside of all of them, a share in each group by its size.
func (p *groups) submitAll(tasks []job, own *Worker) int {
	if own != nil && own.mode == multiThreaded {
		g, i := p.of(own)
		if !g.submitAll(tasks, i) {
			return 0
		}
		return len(tasks)
	}
	left, workers := tasks, len(p.memberships)
	for next, refused := p.nextInTurn(), 0; len(left) > 0 && refused < len(p.all); next++ {
		g := p.all[next%len(p.all)]
		n := min((len(tasks)*len(g.workers)+workers-1)/workers, len(left))
		if g.submitAll(left[:n], -1) {
			left, refused = left[n:], 0
		} else {
			refused++
		}
	}
	return len(tasks) - len(left)
}

// submitAll is submit of several tasks: they go into the shared queue under one lock, and a worker is woken for each as long as
// there is one to wake. Either all are queued or none.
func (g *group) submitAll(tasks []job, from int) bool {
	if from >= 0 && g.cfg.Mode == AffinityMode {
		for _, t := range tasks {
			g.pushPrivate(from, runnable{task: t})
		}
		return true
	}
	if !g.shared.pushAll(tasks, from >= 0) {
		return false
	}
	for _, t := range tasks {
		if local := t.Flags&GroupLocal != 0; !g.wakeFor(local) && !local {
			break
		}
	}
	return true
}

// pushAll is put of several tasks.
func (q *runQueue) pushAll(tasks []job, always bool) bool {
	q.pushing.Lock()
	accepted := always || q.takers > 0
	if accepted {
		for _, t := range tasks {
			q.add(runnable{task: t})
		}
		q.publish(uint64(len(tasks)))
	}
	q.pushing.Unlock()
	return accepted
}
