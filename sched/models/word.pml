/* word.pml: the word of a fiber that may migrate, with the number of its wait, its publication and the token of Park (sched/state.go, wait.go, timers.go).
 *
 * Each step here is one atomic operation of the code, or a part of it that no other thread sees:
 *
 *   here         Go                               what
 *   block        Fiber.block                      the fiber is blocked and unpublished, and its timer starts
 *   suspend      Fiber.suspend, Worker.pickNext   its worker leaves it for another fiber, or waits for work on its stack
 *   publish      Fiber.publish                    the fiber on the other side of the switch makes it visible
 *   look         Fiber.mayGoOn, queueIfNotified   it goes on without a switch
 *   resume       Fiber.resume                     its timer ends, and it is Running
 *   wake         Fiber.wake, Fiber.endWait        a notification ends its wait, or marks it
 *   expire       timers.takeDue, Fiber.endWait    its deadline does
 *   park         parker.Park, Fiber.unblock       it blocks, and then looks for the token
 *   unpark       parker.Unpark                    wakes the fiber, or leaves the token
 *   yield        Fiber.yield                      it lets others go first
 *
 * Two workers run the fiber wherever it is queued. Threads make its predicates true under a lock and notify it, or unpark it, and one has the timers. Waits of
 * workers are ideal here: a worker that is notified looks again; how that is done is in the models of idle workers.
 *
 * What must hold: no worker enters the fiber's stack while it is in use. Only the owner of the stack stores into the word, so nothing is overwritten. The fiber is
 * queued once. A deadline ends no wait but its own. When nothing can move any more, the fiber has come to its end: no wake-up was lost.
 *
 * Planted faults:
 *   EARLY_UNLOCK     the lock is released before the fiber is blocked
 *   NO_UNPUBLISHED   the fiber is visible as soon as it is blocked
 *   WAKE_STORE       wake stores, and does not compare
 *   TWO_LOADS        publish loads the word anew between its look for the mark and its compare-and-swap
 *   NO_NUMBER        waits have no numbers: a thread that is late takes one for another, and notifies the worker of the first
 *   NO_NOTIFY        wake leaves its mark, and does not notify the worker
 *   TOKEN_FIRST      Park looks for the token before it blocks, and not after
 *   ONE_WAKE         Unpark does not wake the fiber once more after it has left the token
 *   YIELD_PUBLISHED  a fiber that yields is queued before it has been left
 */

/* With PARK the fiber waits once, parks and yields. Without, it waits, waits with a deadline, yields and waits again. */
#ifdef PARK
#define AFTER_WAIT 2
#define AFTER_YIELD 5
#else
#define AFTER_WAIT 1
#define AFTER_YIELD 4
#endif

/* the word */
#define RUNNING 0
#define YIELDED 1
#define WAITING 2
#define QUEUED 3
#define UNPUBLISHED 4
#define NOTIFIED 8
#define EXPIRED 16
#define PARKED 32
#define WAIT 64

#define STATE(w) ((w) & 3)
#define NUMBER(w) ((w) & ~63)
#define BLOCKED(w) (STATE(w) == YIELDED || STATE(w) == WAITING)

#ifdef NO_UNPUBLISHED
#define HIDDEN 0
#else
#define HIDDEN UNPUBLISHED
#endif
#ifdef NO_NUMBER
#define NEXT 0
#else
#define NEXT WAIT
#endif

short word = QUEUED;
byte worker;         /* that has run the fiber last */
byte queued = 1;     /* how often it is in the queue */
bool inUse;          /* its stack */
byte step;           /* of the fiber's program */
bool over;           /* it has ended */
bool signal[2];      /* a worker is to look again */
bool locked;         /* the lock of the predicates */
byte turn;           /* step 0 waits until it is 1, step 1 until it is 2, step 4 until it is 3 */
bool handed, token;  /* what Park waits for */
short timer = -1;    /* the number of the wait whose timer is in the heap; -1: there is none */

inline store(next) { atomic { assert(word == old); word = next } } /* no other thread has changed it */

inline swap(next) { /* compare-and-swap */
    atomic {
        if
        :: word == old -> word = next; ok = true
        :: else -> ok = false
        fi
    }
}

inline deliver() { atomic { queued++; assert(queued == 1) } }

inline blockAs(how) {
    atomic { old = word; assert(old == NUMBER(old) + RUNNING) }
    store(NUMBER(old + NEXT) | how | HIDDEN);
    if
    :: STATE(how) == WAITING -> timer = NUMBER(word)
    :: else
    fi
}

proctype thread(byte me) {
    short old;
    bool ok, timedOut;
    byte want;

idle:
    atomic { old = 0; ok = false; timedOut = false; want = 0 }
    if
    :: atomic { queued > 0 -> queued--; worker = me }
    :: over -> goto end
    fi;
    atomic { assert(!inUse); inUse = true }

resume:
    old = word;
    timedOut = (old & EXPIRED) != 0;
    assert(STATE(old) == QUEUED && (!timedOut || step == 1));
    if
    :: step == 1 && !timedOut -> timer = -1 /* timers.stop */
    :: else
    fi;
    store(NUMBER(old) | RUNNING);

running:
    if
    :: step == 1 && timedOut -> atomic { timedOut = false; step = 3 }
    :: step == 2 -> goto park
    :: step == 3 -> goto yield
    :: step == 5 -> atomic { over = true; goto end }
    :: else -> goto check
    fi;
    goto running;

check: /* wait */
    atomic { !locked -> locked = true; want = (step == 4 -> 3 : step + 1) }
    if
    :: turn >= want -> atomic { locked = false; step = (step == 0 -> AFTER_WAIT : step + (step == 1 -> 2 : 1)) }; goto running
    :: else
    fi;
#ifdef EARLY_UNLOCK
    locked = false;
#endif
    if
    :: step == 1 -> blockAs(WAITING)
    :: else -> blockAs(YIELDED)
    fi;
#ifndef EARLY_UNLOCK
    locked = false;
#endif
    goto suspend;

park:
    if
    :: handed -> step = 3; goto running
    :: else
    fi;
    atomic { ok = token; token = false }
    if
    :: ok -> goto park
    :: else
    fi;
    blockAs(YIELDED | PARKED);
#ifndef TOKEN_FIRST
    atomic { ok = token; token = false }
    if
    :: ok -> skip
    :: else -> goto suspend
    fi;
unblock:
    old = word;
    if
    :: (old & NOTIFIED) != 0 || !BLOCKED(old) -> goto suspend
    :: else
    fi;
    swap(NUMBER(old) | QUEUED);
    if
    :: ok -> goto resume
    :: else -> goto unblock
    fi;
#endif
    goto suspend;

yield:
    atomic { old = word; step = AFTER_YIELD }
#ifdef YIELD_PUBLISHED
    store(NUMBER(old) | QUEUED);
    deliver();
    inUse = false;
    goto idle;
#else
    store(NUMBER(old) | QUEUED | UNPUBLISHED);
#endif

suspend:
    if
    :: inUse = false; goto publish /* another fiber goes on */
    :: true                        /* nothing else is to run */
    fi;

    /* look */
    old = word;
    if
    :: (old & NOTIFIED) != 0 -> store(NUMBER(old) | QUEUED | (old & EXPIRED)); goto resume
    :: old == NUMBER(old) + QUEUED + UNPUBLISHED -> goto resume
    :: else
    fi;
    if
    :: atomic { signal[me] -> signal[me] = false }
    fi;
    goto suspend;

publish:
    old = word;
    if
    :: (old & NOTIFIED) != 0 ->
        store(NUMBER(old) | QUEUED | (old & EXPIRED));
        deliver();
        goto idle
    :: else
    fi;
#ifdef TWO_LOADS
    old = word;
#endif
    swap(old & ~UNPUBLISHED);
    if
    :: !ok -> goto publish
    :: ok && STATE(old) == QUEUED -> deliver()
    :: else
    fi;
    goto idle;

end:
}

inline wake(how) {
    woken = false;
    do
    :: old = word;
       if
       :: !BLOCKED(old) || (old & NOTIFIED) != 0 || (old & how) != how -> break
       :: else
       fi;
       if
       :: (old & UNPUBLISHED) != 0 ->
           home = worker;
           swap(old | NOTIFIED);
           if
           :: ok ->
#ifndef NO_NOTIFY
               signal[home] = true;
#endif
               woken = true;
               break
           :: else
           fi
       :: else ->
#ifdef WAKE_STORE
           word = NUMBER(old) | QUEUED;
           ok = true;
#else
           swap(NUMBER(old) | QUEUED);
#endif
           if
           :: ok -> deliver(); woken = true; break
           :: else
           fi
       fi
    od
}

proctype notifier(byte times) {
    short old;
    byte home;
    bool ok, woken;

    do
    :: times > 0 ->
        atomic { !locked -> locked = true }
        turn++;
        locked = false;
        wake(0);
        atomic { times--; old = 0; home = 0; ok = false; woken = false }
    :: else -> break
    od
}

proctype unparker() {
    short old;
    byte home;
    bool ok, woken;

    handed = true;
    wake(PARKED);
    if
    :: woken
    :: else ->
        token = true;
#ifndef ONE_WAKE
        wake(PARKED)
#endif
    fi
}

proctype timers() {
    short old, number;
    byte home;
    bool ok;

endTimers:
    do
    :: atomic { timer >= 0 -> number = timer; timer = -1 }
again:
       old = word;
       if
       :: NUMBER(old) != number || STATE(old) != WAITING || (old & NOTIFIED) != 0
       :: else ->
           if
           :: (old & UNPUBLISHED) != 0 ->
               home = worker;
               swap(old | NOTIFIED | EXPIRED);
               if
               :: ok -> signal[home] = true
               :: else -> goto again
               fi
           :: else ->
               swap(NUMBER(old) | QUEUED | EXPIRED);
               if
               :: ok -> deliver()
               :: else -> goto again
               fi
           fi
       fi;
       atomic { old = 0; home = 0; ok = false; number = 0 }
    od
}

init {
    atomic {
        run thread(0);
        run thread(1);
#ifdef PARK
        run notifier(2);
        run unparker()
#else
        run notifier(2);
        run notifier(1);
        run timers()
#endif
    }
    timeout;
    assert(over)
}
