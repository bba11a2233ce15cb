/* group.pml: a scheduling group, and how its workers spin, sleep and are woken (sched/policy_group.go,
 * run_queue.go, idle.go, loop.go, internal/idle). idle.pml has the ways to sleep.
 *
 * Each step here is one atomic operation, one short section under a lock, or one system call, of the Go code:
 *
 *   here        Go                       what
 *   look        Word.Look                state.Swap(looking)
 *   commit      Word.Commit              state.CompareAndSwap(looking, asleep)
 *   work        Word.Work                state.Store(busy)
 *   notify      Word.Notify              looking -> busy, or asleep -> waking and a wake, by CompareAndSwap
 *   claim       claim                    clears the lowest bit of a mask
 *   wakeOne     Set.WakeOne              claims a spinning worker, else a sleeping one, until one is notified that was idle
 *   submit      group.submit             runQueue.push, wakeOne: a task, or a fiber that is ready
 *   submit      group.pushPrivate        runQueue.push to a private queue; notifies its worker, or else wakeOne
 *   submit      Worker.keep              mailbox.Put, notify: a task that one worker alone may begin
 *   submit      groups.submit            to another group, from which this one may steal
 *   next        group.next               pops from the shared queue and the private one, whichever is first
 *   seek        group.seek               looks there; then takes over from another private queue, then from another group
 *   beginSpin   Set.BeginSpin            sets a bit, unless enough are set
 *   spin        Word.Spin                seek, serve, until notified
 *   serve       Set.Serve                takes pending, claims a sleeper
 *   found       group.found, Set.LeaveWake  wakes another worker for what this one will not take, or leaves that to a spinner
 *   beginSleep  Set.BeginSleep           sets a bit
 *   endSleep    Worker.endSleep          clears it; passes the wake on if it was cleared already
 *
 * A queue has one lock, and a length that others load without it. So an entry is there or it is not, from one store of
 * the length to another. That the store comes before the load of the masks is WEAK_PUSH's matter.
 * The clock is a choice: a task may end, or compute for ever; a spin may end at any time. Which queue is first is
 * a choice too, so both modes and all rounds are in it.
 *
 * OWN, PRIVATE and FOREIGN choose what the second submitter brings. PLAIN leaves out found;
 * SPINNERS says how many may spin. Fibers whose deadlines pass (readyFor) are left out.
 *
 * What must hold: nothing is taken twice, nothing is lost, and when nothing can move any more, no task waits that a worker
 * could begin which sleeps.
 *
 * Planted faults:
 *   NO_SECOND_LOOK  the worker does not look once more after it has set its bit in sleeping
 *   NO_PASS_ON      a claimed worker whose second look has found another thing keeps the wake
 *   LONE_SPINNER    a spinner that leaves with something to take wakes no other worker for the rest: it only sets pending
 *   WEAK_SLEEP      the bit in sleeping is set by a relaxed operation, which may be delayed past the second look
 *   WEAK_PUSH       the store into the queue may be delayed past the load of the masks
 *   COMMIT_STORE    commit stores without comparing: it undoes a notification
 *   TAKE_SEEN       a worker takes what it has seen in the queue, without the lock
 *   LATE_POLL       the worker polls its mailbox once more after found has been decided
 */

#ifndef SPINNERS
#define SPINNERS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#define BIT(i)    (1 << (i))
#define FIRST(m)  ((m) & 1 -> 0 : ((m) & 2 -> 1 : 2))
#define ONES(m)   (((m) & 1) + ((m) >> 1 & 1) + ((m) >> 2 & 1))

#ifdef LONE_SPINNER
#define MORE      (n > 0 && !takes)
#define NOT_ALONE true
#else
#define MORE      (n > takes)
#define NOT_ALONE (spinning != 0)
#endif

#if defined(PRIVATE) || defined(FOREIGN)
#define PRIVATE_QUEUES 1
#endif

#ifdef PLAIN
#define TRACKED false
#else
#define TRACKED true
#endif

#define BUSY    0
#define LOOKING 1
#define WAKING  2
#define ASLEEP  3

byte word[3];
byte spinning;      /* sets of workers */
byte sleeping;
bool pending;
bool delayed[3];    /* WEAK_SLEEP: the bit in sleeping is still in the store buffer */
byte buffered;      /* WEAK_PUSH: tasks that are still in a store buffer */

byte shared;        /* sets of tasks */
byte private[3];
byte mailbox[3];
byte own[3];        /* what the worker has taken out of its mailbox */
byte foreign;       /* in the shared queue of another group */
byte brought;       /* how many tasks */
byte begun;         /* a set of tasks */

/* pop takes the lowest of a set of tasks: e. */
inline pop(set) { e = set & -set; set = set & ~e }

/* notify worker i: told says whether it was idle. Between the change of the word and the wake nothing can happen that could
 * not as well happen before or after. */
inline notify() {
    atomic {
        told = word[i] == LOOKING || word[i] == ASLEEP;
        word[i] = (word[i] == LOOKING -> BUSY : (word[i] == ASLEEP -> WAKING : word[i]));
        i = 0
    }
}

/* claim takes the lowest of a set of workers, and notifies it, until one was idle. */
inline claim(set) {
    do
    :: atomic { told || set == 0 -> break }
    :: atomic { !told && set != 0 -> i = FIRST(set); set = set & (set - 1) }
        notify()
    od
}

inline wakeSleeper() { claim(sleeping); told = false }
inline wakeOne()     { claim(spinning); wakeSleeper() }

/* put puts a new task into a set. */
inline put(set) { atomic { set = set | BIT(brought); brought++ } }

/* A thread brings a task: any that any worker may begin, or one of another kind. */
proctype submitter(bool other) {
    byte i;
    bool told;

#ifdef WEAK_PUSH
    put(buffered);
    goto another;
#endif
    if
    :: !other -> put(shared); goto another
#if defined(PRIVATE) /* a fiber that worker 0 has run last is ready, in affinity mode */
    :: other -> put(private[0])
#elif defined(OWN) /* worker 0 alone may begin it */
    :: other -> put(mailbox[0]); notify(); told = false; goto endOver
#elif defined(FOREIGN) /* it comes to another group */
    :: other -> put(foreign); goto endOver
#else
    :: other -> put(shared); goto another
#endif
    fi;
    atomic { /* wakeThat */
        if
        :: spinning & 1 -> spinning = spinning & ~1; goto that
        :: else
        fi
    }
    atomic {
        if
        :: sleeping & 1 -> sleeping = sleeping & ~1
        :: else -> goto another
        fi
    }
that:
    notify();
another:
    wakeOne(); /* no other worker, if that one was told */
endOver:
    false /* it does not end: an end is two more steps, and they double the states */
}

#ifdef TAKE_SEEN
#define POP_SHARED(some, none) \
    if \
    :: atomic { some -> e = shared & -shared } \
        atomic { shared = shared & ~e; goto begin } \
    :: atomic { none } \
    fi
#else
#define POP_SHARED(some, none) \
    if \
    :: atomic { some -> pop(shared); goto begin } \
    :: atomic { none } \
    fi
#endif

inline poll() { own[w] = own[w] | mailbox[w]; mailbox[w] = 0 }

/* takeOver moves a task to the worker's private queue, and goes on at then. */
inline takeOver(from, then) {
    if
    :: atomic { from != 0 -> pop(from) }
        atomic { private[w] = private[w] | e; e = 0; goto then }
    :: from == 0
    fi
}

proctype worker(byte w) {
    byte e, i, n;
    bool told, spun, takes, foundLast;

loop: /* (*Fiber).run */
#ifdef OWN
    atomic {
        poll();
        if
        :: own[w] != 0 -> goto pinned
        :: else -> goto next
        fi
    }
pinned:
    atomic { pop(own[w]); goto begin }
#endif
next:
#if PRIVATE_QUEUES
    if
    :: goto sharedFirst
    :: goto privateFirst
    fi;
sharedFirst:
    POP_SHARED(shared != 0, shared == 0);
    if
    :: atomic { private[w] != 0 -> pop(private[w]); goto begin }
    :: atomic { private[w] == 0 -> goto wait }
    fi;
privateFirst:
    if
    :: atomic { private[w] != 0 -> pop(private[w]); goto begin }
    :: private[w] == 0
    fi;
#endif
    POP_SHARED(shared != 0, shared == 0 -> goto wait);
begin:
    atomic {
        assert(!(begun & e));
        begun = begun | e;
        e = 0;
        if
        :: goto loop
        :: true
        fi
    }
endBusy:
    false; /* it computes for ever */

wait: /* (*Worker).waitForWork */
    word[w] = LOOKING;
#ifdef OWN
    atomic {
        poll();
        if
        :: own[w] != 0 -> goto work
        :: else
        fi
    }
#endif
#if PRIVATE_QUEUES
    if
    :: private[w] != 0 -> goto work
    :: private[w] == 0
    fi;
#endif
    atomic {
        if
        :: shared != 0 -> goto work
        :: shared == 0 -> goto sleep
        :: shared == 0
        fi
    }
    atomic { /* beginSpin */
        if
        :: ONES(spinning) < SPINNERS -> spinning = spinning | BIT(w); spun = TRACKED
        :: else -> goto sleep
        fi
    }
    do /* spin: until it has seen something, has been notified, or its time is over */
    :: goto endSpin
    :: atomic { pending -> pending = false }
        wakeSleeper()
#ifdef PRIVATE
    :: takeOver(private[(w + 1) % 3], endSpin);
        takeOver(private[(w + 2) % 3], endSpin)
#endif
#ifdef FOREIGN
    :: takeOver(foreign, endSpin)
#endif
    od;
endSpin:
    atomic { spinning = spinning & ~BIT(w); goto wait }

sleep: /* (*Worker).sleep */
#ifdef WEAK_SLEEP
    delayed[w] = true;
#else
    sleeping = sleeping | BIT(w);
#endif
#ifndef NO_SECOND_LOOK
    if
    :: shared != 0 -> goto seen
    :: shared == 0
    fi;
#if PRIVATE_QUEUES
    if
    :: private[w] != 0 -> goto seen
    :: private[w] == 0
    fi;
    takeOver(private[(w + 1) % 3], seen);
    takeOver(private[(w + 2) % 3], seen);
#endif
#ifdef FOREIGN
    if
    :: true /* it is not that group's turn */
    :: takeOver(foreign, seen)
    fi;
#endif
#endif
    goto commit;
seen:
    foundLast = true;
    goto awake;
commit:
    atomic {
        if
#ifdef COMMIT_STORE
        :: word[w] = ASLEEP
#else
        :: word[w] == LOOKING -> word[w] = ASLEEP
        :: else -> goto awake
#endif
        fi
    }
endAsleep:
    atomic { word[w] == WAKING -> word[w] = BUSY }
awake: /* endSleep */
    atomic {
        !delayed[w];
        if
#ifndef NO_PASS_ON
        :: !(sleeping & BIT(w)) && foundLast -> foundLast = false
#endif
        :: else -> foundLast = false; sleeping = sleeping & ~BIT(w); goto wait
        fi
    }
    wakeOne();
    goto wait;

work:
    word[w] = BUSY;
#ifdef PLAIN
    goto loop;
#endif
#if PRIVATE_QUEUES
    takes = own[w] == 0 && (shared != 0 || private[w] != 0); /* group.found */
    n = ONES(shared) + ONES(private[w]);
    atomic {
        n = n + ONES(private[(w + 1) % 3]) + ONES(private[(w + 2) % 3]);
#else
    atomic { /* group.found */
        takes = own[w] == 0 && shared != 0;
        n = ONES(shared);
#endif
        if
        :: MORE && (!takes || spun)
        :: !MORE && spun -> n = 0; takes = false; spun = false; goto leaveWake
        :: !spun && (takes || !MORE) -> n = 0; takes = false; goto found
        fi;
        n = 0;
        takes = false;
        spun = false
    }
    wakeOne();
    goto found;
leaveWake:
    atomic {
        if
        :: ONES(spinning) < SPINNERS && NOT_ALONE
        :: else -> goto found
        fi
    }
    pending = true;
found:
#ifdef OWN
#ifdef LATE_POLL
    goto loop;
#else
    if
    :: own[w] != 0 -> goto pinned
    :: else -> goto next
    fi
#endif
#else
    goto loop
#endif
}

#if defined(WEAK_SLEEP) || defined(WEAK_PUSH)
proctype storeBuffers() {
endDrained:
    do
    :: atomic { delayed[0] -> delayed[0] = false; sleeping = sleeping | BIT(0) }
    :: atomic { delayed[1] -> delayed[1] = false; sleeping = sleeping | BIT(1) }
    :: atomic { delayed[2] -> delayed[2] = false; sleeping = sleeping | BIT(2) }
    :: atomic { buffered -> shared = shared | buffered; buffered = 0 }
    od
}
#endif

init {
    atomic {
        run worker(0); run worker(1);
#if WORKERS == 3
        run worker(2);
#endif
        run submitter(false); run submitter(true);
#if defined(WEAK_SLEEP) || defined(WEAK_PUSH)
        run storeBuffers();
#endif
    }
    timeout;
    assert((begun | shared | private[0] | private[1] | private[2] | mailbox[0] | own[0] | foreign) == BIT(brought) - 1);
    assert(word[0] != ASLEEP || !mailbox[0] && !own[0]);
    assert(word[0] != ASLEEP && word[1] != ASLEEP && word[2] != ASLEEP || !shared && !private[0] && !private[1] && !private[2])
}
