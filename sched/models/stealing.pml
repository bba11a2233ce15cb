/* stealing.pml: the workers of policy stealing, and which of them is woken, above the word of each (sched/idle.go,
 * loop.go, policy_stealing.go, worker.go, internal/idle). idle.pml has the ways to sleep.
 *
 * Each step here is one atomic operation, one short section under a lock, or one system call, of the Go code:
 *
 *   here          Go                         what
 *   look          Word.Look                  state.Swap(looking)
 *   commit        Word.Commit                state.CompareAndSwap(looking, asleep)
 *   work          Word.Work                  state.Store(busy)
 *   notify        Word.Notify                looking -> busy, or asleep -> waking and FUTEX_WAKE, by CompareAndSwap
 *   sleep         Word.Sleep                 FUTEX_WAIT while the word is asleep; then state.Store(busy)
 *   submitter     stealing.submit, give      takes a worker out of asleep; push, notify; wakeOne if that is busy
 *                 Worker.keep                or mailbox.Put, notify: a task that worker 0 alone may begin
 *   wakeOne       Set.WakeSleeper            takes workers out of asleep until one is notified
 *   poll          Worker.poll                empties the mailbox
 *   seek          stealing.seek              takes half of what lies at another worker, unless that is just being woken
 *   found         stealing.found             wakes another worker for what this one was woken for and will not do
 *   next          Worker.take, stealing.next own tasks first, then one of the queue; wakes another worker for the rest
 *
 * Queues are under locks, so an entry is there or it is not: there are no places that are reserved and not yet filled.
 * The clock is a choice: a task may end, or compute for ever; a wake may take so long that others no longer wait for it
 * (waking). Spinning is left out: a worker that spins is looking.
 *
 * What must hold: no queue gives more than was put in, and when nothing can move any more, no task waits that a worker
 * could begin which sleeps.
 *
 * Planted faults:
 *   LOOK_FIRST   the worker looks for work, and says only then that it looks
 *   WEAK_LOOK    the store of Look is delayed past the look, as by a store buffer
 *   COMMIT_STORE commit stores without comparing: it undoes a notification
 *   NO_LAST_LOOK the worker does not seek once more after it has entered asleep
 *   NO_FOUND     found wakes no worker
 *   LATE_POLL    the worker polls its mailbox once more after found
 */

#define BIT(i)   (1 << (i))
#define OTHER    (1 - w) /* there are two workers */

#define BUSY     0
#define LOOKING  1
#define ASLEEP   2
#define WAKING   3

byte word[2];
bool delayed[2];   /* WEAK_LOOK: the store of Look is still in the store buffer */
bool inFutex[2];
bool timed[2];     /* the sleep has a deadline */
byte tasks[2];     /* how many in each queue */
byte mailbox[2];
byte own[2];       /* tasks that came in the mailbox, when the worker has polled it */
byte asleep;       /* a set of workers */
byte put, begun;   /* tasks so far */

/* notify tells worker i that there is work, unless it knows: done says so. */
inline notify() {
    if
    :: word[i] == LOOKING -> word[i] = BUSY; done = true
    :: word[i] == ASLEEP -> word[i] = WAKING; done = true; inFutex[i] = false
    :: else -> done = false
    fi
}

/* takeAsleep: i is the lowest of the set. */
inline takeAsleep() {
    i = (asleep & 1 -> 0 : 1);
    asleep = asleep & (asleep - 1)
}

inline wakeOne() {
    do
    :: asleep == 0 -> break
    :: atomic { asleep != 0 -> takeAsleep() }
        atomic {
            notify();
            i = 0;
            if
            :: done -> done = false; break
            :: else
            fi
        }
    od
}

/* A thread brings a task that any worker may begin, or one for worker 0. */
proctype submitter() {
    byte i;
    bool done;

    if
    :: true ->
        d_step { mailbox[0]++; put++ }
        atomic { notify(); goto end }
    :: atomic { asleep != 0 -> takeAsleep() }
    :: atomic { asleep == 0 -> i = 0 } /* all are busy: to each in turn */
    :: atomic { asleep == 0 -> i = 1 }
    fi;
    d_step { tasks[i]++; put++ }
    atomic {
        notify();
        i = 0;
        if
        :: done -> goto end
        :: else
        fi
    }
    wakeOne();
end:
    skip
}

inline poll() { own[w] = own[w] + mailbox[w]; mailbox[w] = 0 }

/* seek takes half of what lies at the other worker: more says that there is more than one can begin at once. */
inline seek() {
    if
    :: atomic { tasks[w] -> goto stolen }
    :: atomic { !tasks[w] && word[OTHER] == WAKING -> /* for less than a millisecond */
            timed[w] = tasks[OTHER] > 0 }
    :: atomic { !tasks[w] -> /* it is not being woken, or that takes too long */
            n = (tasks[OTHER] + 1) / 2;
            tasks[OTHER] = tasks[OTHER] - n;
            more = n > 1 || n > 0 && tasks[OTHER] > 0;
            if
            :: n == 0 -> goto seen
            :: else
            fi
        }
        atomic {
            tasks[w] = tasks[w] + n;
            n = 0;
            if
            :: !more -> goto stolen
            :: else -> more = false
            fi
        }
        wakeOne();
        goto stolen
    fi;
seen:
    skip
}

proctype worker(byte w) {
    byte i, n;
    bool done, more;

loop: /* (*Fiber).run */
    atomic {
        poll();
        if
        :: own[w] -> goto pinned
        :: else -> goto next
        fi
    }
pinned:
    atomic { own[w]--; goto begin }
next:
    atomic { /* next */
        if
        :: !tasks[w] -> goto wait
        :: else -> tasks[w]--
        fi
    }
    if
    :: tasks[w] == 0 -> goto begin
    :: tasks[w] != 0
    fi;
    wakeOne();
begin:
    atomic {
        begun++;
        if
        :: goto loop
        :: true
        fi
    }
endBusy:
    false; /* it computes for ever */

wait: /* (*Worker).waitForWork */
#ifndef LOOK_FIRST
#ifdef WEAK_LOOK
    delayed[w] = true;
#else
    word[w] = LOOKING;
#endif
#endif
    atomic {
        poll();
        if
        :: own[w] -> goto work
        :: else
        fi
    }
    if
    :: tasks[w] -> goto work
    :: !tasks[w]
    fi;
#ifdef LOOK_FIRST
    word[w] = LOOKING;
#endif

    /* (*Worker).sleep */
    asleep = asleep | BIT(w);
#ifndef NO_LAST_LOOK
    seek();
#endif
    atomic { /* commit */
        if
        :: delayed[w] -> word[w] = LOOKING; delayed[w] = false
        :: else
        fi;
        if
#ifdef COMMIT_STORE
        :: word[w] = ASLEEP
#else
        :: word[w] == LOOKING -> word[w] = ASLEEP
        :: else -> goto awake
#endif
        fi
    }
    inFutex[w] = word[w] == ASLEEP; /* FUTEX_WAIT */
endAsleep:
    if
    :: !inFutex[w]
    :: atomic { inFutex[w] && timed[w] -> inFutex[w] = false }
    fi;
    word[w] = BUSY;
awake:
    atomic { timed[w] = false; asleep = asleep & ~BIT(w) } /* endSleep */
    goto wait;
stolen: /* endSleep, where the last look has found something: passes the wake on if the worker was claimed */
    atomic {
        timed[w] = false;
        if
        :: asleep & BIT(w) -> asleep = asleep & ~BIT(w); goto wait
        :: else
        fi
    }
    wakeOne();
    goto wait;

work:
    atomic { word[w] = BUSY; delayed[w] = false }
#ifndef NO_FOUND
    if
    :: own[w] && tasks[w] -> wakeOne()
    :: tasks[OTHER] -> wakeOne()
    :: word[OTHER] == WAKING /* for less than a millisecond */
    :: !tasks[OTHER] && !(own[w] && tasks[w])
    fi;
#endif
#ifdef LATE_POLL
    goto loop
#else
    if
    :: own[w] -> goto pinned
    :: else -> goto next
    fi
#endif
}

#ifdef WEAK_LOOK
proctype storeBuffer() {
endDrained:
    do
    :: d_step { delayed[0] -> delayed[0] = false; word[0] = LOOKING }
    :: d_step { delayed[1] -> delayed[1] = false; word[1] = LOOKING }
    od
}
#endif

init {
    atomic {
        run worker(0); run worker(1);
        run submitter(); run submitter();
#ifdef WEAK_LOOK
        run storeBuffer();
#endif
    }
    timeout;
    assert(put == begun + tasks[0] + tasks[1] + mailbox[0] + own[0]);
    assert(!inFutex[0] || mailbox[0] + own[0] == 0);
    assert(!inFutex[0] && !inFutex[1] || tasks[0] + tasks[1] == 0)
}
