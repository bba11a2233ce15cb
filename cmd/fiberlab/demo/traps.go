package demo

// Traps returns the four traps of condition variables, made anew.
func Traps() []Trap {
	return []Trap{signalBeforeWait(), ifForWhile(), statusOutsideLock(), lockWhileRunning()}
}

// must is Parse for the texts of this file.
func must(text string) *Program {
	p, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return p
}

// get is a future's get: it runs a task that has not begun, and waits for a task that has.
const get = `
get:
  lock
  if status == NOT_STARTED:
    remove()
    status = IN_PROGRESS
    unlock
    result = task()
    lock
    status = COMPLETED
    signal(done)
    unlock
  else:
    while status != COMPLETED:
      wait(done)
    unlock
`

// worker is a thread of the pool that takes one task.
const worker = `
queue: task
worker:
  lock
  if queue is empty:
    unlock
    return
  task = pop_front()
  status = IN_PROGRESS
  unlock
  result = task()
  lock
  status = COMPLETED
  signal(done)
  unlock
`

func signalBeforeWait() Trap {
	return Trap{
		Name:  "signal-before-wait",
		Title: "The signal comes before the wait",
		Text: "A worker takes a task and runs it; get waits for the result. The worker sets the status and signals " +
			"without the lock. " +
			"So both can come between get's look at the status and its wait, " +
			"and a condition does not remember a signal.",
		Remedy: "Set the status with the lock held. get holds the lock from its look until it sleeps, so no signal " +
			"comes in between.",
		Faulty: must(`
queue: task
worker:
  lock
  if queue is empty:
    unlock
    return
  task = pop_front()
  status = IN_PROGRESS
  unlock
  result = task()
  status = COMPLETED
  signal(done)
get:
  lock
  if status == NOT_STARTED:
    remove()
    status = IN_PROGRESS
    unlock
    result = task()
    status = COMPLETED
    signal(done)
  else:
    while status != COMPLETED:
      wait(done)
    unlock
`),
		Repaired: must(worker + get),
	}
}

func ifForWhile() Trap {
	const producer = `
producer:
  lock
  items = items + 1
  signal(not_empty)
  unlock
  lock
  items = items + 1
  signal(not_empty)
  unlock
`
	return Trap{
		Name:  "if-for-while",
		Title: "if in the place of while, with two consumers",
		Text: "A producer puts two items there, and each of two consumers takes one. A consumer that finds none " +
			"waits, and when it is woken " +
			"it takes an item without another look. But between the signal and its turn the other consumer may have " +
			"taken that item.",
		Remedy: "Look again after each wait: while, not if.",
		Faulty: must(`
consumer A, consumer B:
  lock
  if items == 0:
    wait(not_empty)
  items = items - 1
  unlock
` + producer),
		Repaired: must(`
consumer A, consumer B:
  lock
  while items == 0:
    wait(not_empty)
  items = items - 1
  unlock
` + producer),
	}
}

func statusOutsideLock() Trap {
	return Trap{
		Name:  "status-outside-lock",
		Title: "The status is set outside the lock",
		Text: "The worker takes the task off the queue with the lock held, but gives the lock back before it sets " +
			"the status. Meanwhile get " +
			"still finds NOT_STARTED, removes what is in no queue any more, and runs the task as well.",
		Remedy: "Take the task off the queue and set its status under one and the same lock.",
		Faulty: must(`
queue: task
worker:
  lock
  if queue is empty:
    unlock
    return
  task = pop_front()
  unlock
  status = IN_PROGRESS
  result = task()
  lock
  status = COMPLETED
  signal(done)
  unlock
` + get),
		Repaired: must(worker + get),
	}
}

func lockWhileRunning() Trap {
	return Trap{
		Name:  "lock-while-running",
		Title: "The lock is held while the task runs",
		Text: "Two workers, and two tasks in the queue: a parent and its child. The parent waits for the result of " +
			"the child. A worker runs the parent " +
			"with the lock held; so the other worker cannot take the child off the queue.",
		Remedy: "Give the lock back before the task runs.",
		Faulty: must(`
queue: parent waits for child, child
worker 1, worker 2:
  lock
  task = pop_front()
  status = IN_PROGRESS
  result = task()
  status = COMPLETED
  unlock
`),
		Repaired: must(`
queue: parent waits for child, child
worker 1, worker 2:
  lock
  task = pop_front()
  status = IN_PROGRESS
  unlock
  result = task()
  lock
  status = COMPLETED
  unlock
`),
	}
}
