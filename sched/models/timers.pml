/* timers.pml: timers that workers have in common, and which of the idle workers sleeps until the earliest deadline (sched/timers.go).
 *
 * Each step here is one atomic operation of the Go code, or what it does while it holds a lock that the others need too:
 *
 *   here     Go                             what
 *   add      timers.add                     under the lock: stores the earliest deadline; then, if that is the new one, the watcher
 *   remove   timers.stop, timers.takeDue    under the lock: takes a timer out, and stores the earliest deadline
 *   leave    timers.leave                   loads the earliest deadline, then the watcher; takes itself out as the watcher; wakes an idle worker
 *   wakeOne  Set.WakeOne                    clears the lowest bit in sleeping, then Word.Notify; if that fails, again
 *   look     Word.Look, Worker.sleep        the word becomes LOOKING; then the worker sets its bit in sleeping, and looks for a task
 *   watch    timers.watch                   loads the earliest deadline; becomes the watcher if there is none; if it is, loads the deadline again
 *   sleep    Word.Commit, Word.Sleep        sleeps until that deadline, or without a limit
 *   sender   Mailbox.Put, Word.Notify       brings worker 1 a task
 *
 * There are two timers: one is due before the other, and a fiber of any worker adds each once. Worker 0 runs at first, the others are idle.
 * A worker that runs may add a timer, run another fiber that is ready, run dry, or compute without end. Worker 1 gets a task that no other
 * worker may take. A sleep may end by its limit, but only once: after that the limit is far.
 *
 * What must hold: when nothing can move any more and a worker sleeps, one sleeps until the earliest deadline at most.
 *
 * Planted faults:
 *   NO_WATCHER     add leaves the watcher as it is
 *   READ_FIRST     the worker loads the deadline before it becomes the watcher, and not after
 *   SET_LATER      the worker becomes the watcher before it sets its bit
 *   NO_LEAVE       a worker that runs something remains the watcher
 *   NO_WAKE        leave wakes no other worker
 *   OWN_ONLY       leave does nothing if there is no watcher
 */

#define WORKERS 3
#define NEVER 3
#define NONE  WORKERS

#define BUSY    0
#define LOOKING 1
#define ASLEEP  2

bool timer[NEVER];       /* timer[1] and timer[2]: in the heap; the index is the deadline */
byte earliest = NEVER;
byte watcher = NONE;
bool locked;
byte word[WORKERS];
bool sleeping[WORKERS];
byte until[WORKERS];     /* of a worker that sleeps */
bool mail;               /* worker 1 has a task that no other may take */
byte limits = 1;         /* how often a sleep may still end by its limit */
byte others = 1;          /* fibers that are ready when the first one blocks */
bool added[NEVER];       /* each once */

#define FIRST (timer[1] -> 1 : (timer[2] -> 2 : NEVER))

inline wakeOne() {
    do
    :: d_step { /* Set.claim */
            k = 0;
            do
            :: k < WORKERS && !sleeping[k] -> k++
            :: k < WORKERS && sleeping[k] -> sleeping[k] = false; break
            :: k == WORKERS -> break
            od
        }
        if
        :: k == WORKERS -> break
        :: d_step { k < WORKERS && word[k] != BUSY -> word[k] = BUSY } break
        :: k < WORKERS && word[k] == BUSY /* it has been notified for something else */
        fi
    od;
    k = 0
}

inline leave() {
#ifndef NO_LEAVE
    if
    :: earliest == NEVER
    :: earliest != NEVER ->
        seen = watcher;
        if
        :: seen == me ->
            d_step { swapped = watcher == me; watcher = (swapped -> NONE : watcher) }
        :: seen == NONE ->
#ifndef OWN_ONLY
            swapped = true
#else
            skip
#endif
        :: else
        fi;
        if
#ifndef NO_WAKE
        :: swapped -> wakeOne()
#endif
        :: else
        fi;
        d_step { swapped = false; seen = 0 }
    fi
#else
    skip
#endif
}

inline add(deadline) {
    atomic { !locked -> locked = true }
    timer[deadline] = true;
    earliest = FIRST;
#ifndef NO_WATCHER
    if
    :: (FIRST == deadline) -> watcher = me
    :: else
    fi;
#endif
    locked = false
}

inline remove(deadline) {
    atomic { !locked -> locked = true }
    d_step { timer[deadline] = false; earliest = FIRST; locked = false }
}

inline watch() { /* sets limit */
#ifdef READ_FIRST
    limit = earliest;
#endif
    if
    :: earliest == NEVER -> limit = NEVER
    :: earliest != NEVER ->
        d_step { watcher = (watcher == NONE -> me : watcher); mine = watcher == me }
        if
        :: mine ->
#ifndef READ_FIRST
            limit = earliest
#else
            skip
#endif
        :: else -> limit = NEVER
        fi;
        mine = false
    fi
}

proctype worker(byte me) {
    byte k, seen, limit;
    bool swapped, mine;

    if
    :: me > 0 -> goto look /* they are idle at first */
    :: else
    fi;
begin:
    if
    :: d_step { !added[1] -> added[1] = true } add(1) /* the fiber blocks until 1 */
    :: d_step { !added[2] -> added[2] = true } add(2)
    :: skip
    :: goto done /* it computes without end */
    fi;
    if
    :: d_step { others > 0 -> others-- } leave(); goto begin /* another fiber is ready */
    :: skip                                        /* it has run dry */
    fi;

look:
    word[me] = LOOKING;
#ifdef SET_LATER
    watch();
#endif
    sleeping[me] = true;
    if
    :: d_step { me == 1 && mail -> mail = false; sleeping[me] = false; word[me] = BUSY }
        leave();
        goto begin
    :: me != 1 || !mail
    fi;
#ifndef SET_LATER
    watch();
#endif
    d_step { /* Commit */
        until[me] = limit;
        limit = 0;
        word[me] = (word[me] == LOOKING -> ASLEEP : BUSY)
    }
end_sleep:
    if
    :: word[me] == BUSY -> skip
    :: d_step { word[me] == ASLEEP && until[me] != NEVER && limits > 0 -> limits--; word[me] = BUSY; mine = true }
    fi;
    d_step { sleeping[me] = false; seen = (mine -> until[me] : 0); until[me] = 0; mine = false }
    if
    :: d_step { seen == 0 || earliest > seen -> seen = 0 } goto look
    :: d_step { seen != 0 && earliest <= seen -> seen = 0 } /* it expires the timer, and runs the fiber */
        if
        :: timer[1] -> remove(1)
        :: !timer[1] && timer[2] -> remove(2)
        :: else -> goto look
        fi;
        leave();
        goto begin
    fi;
done:
    word[me] = BUSY
}

proctype sender() {
    mail = true;
    word[1] = BUSY /* Notify; its bit stays */
}

#define SLEEPS(i) (word[i] == ASLEEP)
#define SEES(i)   (word[i] == ASLEEP && until[i] <= earliest)

init {
    atomic {
        byte i;
        for (i : 0 .. WORKERS - 1) { run worker(i) }
        run sender()
    }
    timeout;
    assert(earliest == NEVER || SEES(0) || SEES(1) || SEES(2) || !(SLEEPS(0) || SLEEPS(1) || SLEEPS(2)));
    assert(!mail || !SLEEPS(1))
}
