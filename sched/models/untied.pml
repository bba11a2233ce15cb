/* untied.pml: how a worker sleeps that need not keep its thread (sched/sleep.go, sched/park/goroutine.go), below the word and the
 * wait slot of its driver (sched/sleep.go) or, with EVENTCOUNT, below an eventcount (sched/sleep.go).
 *
 * Each step here is one atomic operation, or one system call, of the Go code:
 *
 *   here        Go                          what
 *   prepare     countWord.prepare           driver.Swap(prepared)
 *   commit      countWord.commit            driver.CompareAndSwap(prepared, asleep)
 *   tell        slotDriver.notify, stop     driver.Swap(notified), or Store; if it was asleep, count.Add(1), or Store(many), and Wake if the count was 0
 *   tell        eventcount.notify           driver.CompareAndSwap(prepared, notified), or (asleep, waking) and Wake
 *   sleep       waitSlot.wait               count.Add(-1); if the count was 1, Wait, and then count.CompareAndSwap(0, 1)
 *   park        untiedSleep.park            word.CompareAndSwap(awake, parked), and Park; then word.Swap(awake)
 *   block       untiedSleep.block           word.CompareAndSwap(awake, asleep), and FUTEX_WAIT; then word.Swap(awake)
 *   wake        untiedSleep.Wake            word.Swap(woken); Unpark if it was parked, FUTEX_WAKE if it was asleep
 *   token       park.Goroutine              Park: Load, enter the condition's list, CompareAndSwap(none, awaited), wait for Signal, Swap(none).
 *                                           Unpark: Swap(unparked); Signal if it was awaited
 *
 * Two threads bring work twice, or stop the worker instead. The worker begins all that it finds at once, and looks again. It parks or sleeps on
 * the futex, as it likes. FUTEX_WAIT may return because a deadline has passed, or for no reason, but only a few times: after that the deadline is far.
 *
 * What must hold. When nothing can move any more, the worker has ended if it was stopped, and no work waits while it sleeps, not even until a
 * deadline. A park begins without a token, and ends by a Wake that found it, and by nothing else. A Wake that comes late ends at most two sleeps for which it
 * was not meant: one by the word, one by FUTEX_WAKE. The slot's count is at least 1 before each wait.
 *
 * Planted faults:
 *   LOOK_PARK     park loads the word and stores parked, in the place of the compare-and-swap
 *   ONLY_ASLEEP   Wake does nothing more for a worker that is parked
 *   RESET_FIRST   Wait makes the word awake before it sleeps, and not after
 *   NO_RESET      it does not make it awake at all
 *   SPLIT_WAKE    Wake loads the word, and stores woken
 *   ALWAYS_UNPARK Wake unparks a worker that is not parked
 *   AWAIT_STORE   Park stores awaited, in the place of the compare-and-swap
 *   NOT_BACK      the slot's count is not given back after a deadline
 *   WEAK_PREPARE  the store of prepare is delayed past the look, as by a store buffer
 *   WEAK_WORK     the store of the work is delayed past notify's load of the eventcount
 */

#define TURNS 2 /* of each of two threads */
#define MANY  100

/* the driver's word */
#define NOTIFIED 0
#define PREPARED 1
#define COMMITTED 2
#define WAKING   3

/* the word of the sleep */
#define AWAKE  0
#define PARKED 1
#define ASLEEP 2
#define WOKEN  3

/* the token */
#define NONE     0
#define AWAITED  1
#define UNPARKED 2

byte work;         /* what has been brought and has not begun */
bool finished, stopped;
byte driver;
bool delayed;      /* WEAK_PREPARE: prepared is still in the store buffer */
short count = 1;
byte word;
bool inFutex;
byte token;
bool listed;       /* the worker is in the condition's list */
byte early = 2;    /* how often FUTEX_WAIT may still return because of a deadline, or for no reason */
byte stale;        /* how many sleeps may still end although the driver has not been told */

inline unpark() {
    d_step { was = token; token = UNPARKED }
    if
    :: was == AWAITED -> listed = false /* Signal */
    :: else
    fi
}

inline wake() {
#ifdef SPLIT_WAKE
    was = word;
    d_step { word = WOKEN; stale = stale + 2 }
#else
    d_step { was = word; word = WOKEN; stale = stale + 2 }
#endif
    if
#ifdef ALWAYS_UNPARK
    :: was != ASLEEP -> unpark()
#elif !defined(ONLY_ASLEEP)
    :: was == PARKED -> unpark()
#endif
    :: was == ASLEEP -> inFutex = false /* FUTEX_WAKE */
    :: else
    fi
}

inline tell() {
#ifdef EVENTCOUNT
    d_step {
        was = driver;
        driver = (was == PREPARED -> NOTIFIED : (was == COMMITTED -> WAKING : was));
#ifdef WEAK_WORK
        if
        :: driver != was -> work = work + late; late = false
        :: else
        fi
#endif
    }
    if
    :: was == COMMITTED -> wake()
    :: else
    fi
#else
    d_step { was = driver; driver = NOTIFIED }
    if
    :: stops || was == COMMITTED ->
        d_step {
            zero = stops || count == 0;
            count = (stops -> MANY : count + 1)
        }
        if
        :: zero -> wake()
        :: else
        fi
    :: else
    fi
#endif
}

proctype notifier() {
    byte n, was;
    bool stops, zero, late; /* it stops the worker; the count was 0; WEAK_WORK: the work is in the store buffer */

    do
    :: n < TURNS && !stops ->
        n++;
        if
#ifdef WEAK_WORK
        :: late = true
#else
        :: work++
#endif
        :: d_step { finished = true; stops = true }
        fi;
        tell();
#ifdef WEAK_WORK
        d_step { work = work + late; late = false }
#endif
        d_step { was = 0; zero = false }
    :: else -> break
    od
}

inline park() {
#ifdef LOOK_PARK
    d_step { swapped = word == AWAKE; assert(!swapped || token == NONE) }
    if
    :: swapped -> word = PARKED
    :: else
    fi;
#else
    d_step {
        swapped = word == AWAKE;
        if
        :: swapped -> word = PARKED; assert(token == NONE)
        :: else
        fi
    }
#endif
    if
    :: swapped ->
        if
        :: token == UNPARKED
        :: token != UNPARKED ->
            listed = true;
#ifdef AWAIT_STORE
            token = AWAITED;
#else
            d_step {
                if
                :: token == NONE -> token = AWAITED
                :: else -> listed = false /* Signal */
                fi
            }
#endif
endParked:
            !listed
        fi;
        d_step { token = NONE; assert(word == WOKEN) }
    :: else
    fi
}

inline block() {
    d_step {
        swapped = word == AWAKE;
        if
        :: swapped -> word = ASLEEP
        :: else
        fi
    }
    if
    :: swapped ->
        inFutex = word == ASLEEP; /* FUTEX_WAIT */
endAsleep:
        if
        :: !inFutex
        :: d_step { inFutex && early > 0 -> inFutex = false; early--; passed = true }
        fi
    :: else
    fi
}

inline wait() {
#ifdef RESET_FIRST
    word = AWAKE;
#endif
    if
    :: park()
    :: block()
    fi;
    swapped = false;
#if !defined(RESET_FIRST) && !defined(NO_RESET)
    word = AWAKE
#endif
}

/* ended: the wait is over, and told says whether the driver has been told. */
inline ended(told) {
    assert(told || passed || stale > 0);
    stale = stale - !(told || passed);
    passed = false
}

proctype worker() {
    bool swapped, passed; /* a compare-and-swap has changed the word; FUTEX_WAIT has returned by itself */
    short before;

look:
#ifdef WEAK_PREPARE
    delayed = true;
#else
    driver = PREPARED;
#endif
    if
    :: finished -> goto stop
    :: !finished
    fi;
    if
    :: d_step { work > 0 -> work = 0 } goto look
    :: work == 0
    fi;
    atomic { /* commit */
        if
        :: delayed -> driver = PREPARED; delayed = false
        :: else
        fi;
        if
        :: driver == PREPARED -> driver = COMMITTED
        :: else -> goto look
        fi
    }
#ifdef EVENTCOUNT
    wait();
    d_step { ended(driver != COMMITTED) }
#else
    d_step { before = count; count--; assert(before > 0) }
    if
    :: before == 1 ->
        before = 0;
        wait();
        d_step {
            ended(count != 0);
#ifndef NOT_BACK
            if
            :: count == 0 -> count = 1
            :: else
            fi
#endif
        }
    :: else -> before = 0
    fi;
#endif
    driver = NOTIFIED;
    goto look;
stop:
    stopped = true
}

#ifdef WEAK_PREPARE
proctype storeBuffer() {
endDrained:
    do
    :: d_step { delayed -> delayed = false; driver = PREPARED }
    od
}
#endif

init {
    atomic {
        run worker(); run notifier(); run notifier();
#ifdef WEAK_PREPARE
        run storeBuffer();
#endif
    }
    timeout;
    assert(stopped || !finished && work == 0)
}
