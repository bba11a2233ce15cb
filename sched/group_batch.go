package sched

var _ batching = (*groups)(nil)

// submitAll queues tasks in the caller's group; for a caller outside of all of them, a share in each group.
func (p *groups) submitAll(tasks []job, own *Worker) int {
	if own != nil && own.mode == multiThreaded {
		g, i := p.of(own)
		if !g.submitAll(tasks, i) {
			return 0
		}
		return len(tasks)
	}
	share, left := (len(tasks)+len(p.all)-1)/len(p.all), tasks
	for refused := 0; len(left) > 0 && refused < len(p.all); {
		n := min(share, len(left))
		if p.nextInTurn().submitAll(left[:n], -1) {
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
	for range tasks {
		if !g.wakeFor() {
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
