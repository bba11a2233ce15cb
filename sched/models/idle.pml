/* idle.pml: the word of a worker, by which the worker waits and is woken (internal/idle).
 *
 * Each step here is one atomic operation, or one system call, of the Go code:
 *
 *   here      Go                      what
 *   look      Word.Look               state.Swap(looking); then the worker looks for work
 *   commit    Word.Commit             state.CompareAndSwap(looking, way)
 *   sleep     Word.sleepOnThread      FUTEX_WAIT while the word is OnThread
 *   sleep     Word.sleepAsGoroutine   receives a token, or at its limit state.CompareAndSwap(AsGoroutine, busy); if that fails, it receives
 *   sleep     Device.Wait             until Wake, which the device keeps
 *   work      Word.Work               state.Store(busy)
 *   notify    Word.Notify             state.Load; CompareAndSwap(looking, busy), or (way, waking), until one succeeds
 *   wake      Word.wake               FUTEX_WAKE, or a token, or Device.Wake
 *
 * Two threads bring work twice each. The worker begins all that it finds at once, and looks again. It sleeps in each of the three ways, as it
 * likes. A sleep may end by its limit, or for no reason, but only a few times: after that the limit is far. A spin is a look that finds nothing.
 *
 * What must hold: when nothing can move any more, no work waits while the worker sleeps. A goroutine receives a token only if it has been notified
 * in that sleep, and the channel is empty when a sleep begins. A waker never waits for room in the channel.
 *
 * Planted faults:
 *   LOOK_FIRST   the worker looks for work, and says only then that it looks
 *   WEAK_LOOK    the store of Look is delayed past the look, as by a store buffer
 *   COMMIT_STORE Commit stores without comparing: it undoes a notification
 *   NOTIFY_STORE Notify loads the word, and stores without comparing
 *   WEAK_BRING   the store of the work is delayed past Notify's load of the word
 *   WAY_LATER    a waker reads the way when it has changed the word, and not from the word
 *   BLIND_WAIT   FUTEX_WAIT does not compare the word
 *   TOKEN_LEFT   a worker whose limit has passed does not receive the token that a waker sends
 *   WAKE_LOST    a device does not keep a Wake that comes before Wait
 */

#define TURNS 2 /* of each of two threads */

#define BUSY         0
#define LOOKING      1
#define WAKING       2
#define ON_THREAD    3
#define AS_GOROUTINE 4
#define IN_DEVICE    5

byte work;      /* what has been brought and has not begun */
byte word;
byte way;       /* of the last Commit */
bool delayed;   /* WEAK_LOOK: LOOKING is still in the store buffer */
bool inFutex;
byte token;     /* in the channel */
bool inDevice, woken; /* the worker waits in the device; the device keeps a Wake */
byte early = 3; /* how often a sleep may still end by its limit, or for no reason */

inline wake(how) {
    if
    :: how == ON_THREAD -> inFutex = false /* FUTEX_WAKE */
    :: how == AS_GOROUTINE -> d_step { assert(token == 0); token++ }
    :: how == IN_DEVICE ->
#ifdef WAKE_LOST
        woken = inDevice
#else
        woken = true
#endif
    :: else
    fi
}

proctype notifier() {
    byte n, old;
    bool swapped, late; /* WEAK_BRING: the work is still in the store buffer */

    do
    :: n < TURNS ->
        n++;
#ifdef WEAK_BRING
        late = true;
#else
        work++;
#endif
        do
        :: old = word;
            if
            :: old == BUSY || old == WAKING -> break
            :: else
            fi;
            d_step {
                swapped = word == old;
#ifdef NOTIFY_STORE
                swapped = true;
#endif
                if
                :: swapped -> word = (old == LOOKING -> BUSY : WAKING)
                :: else
                fi
            }
            if
            :: swapped && old != LOOKING ->
#ifdef WAY_LATER
                wake(way);
#else
                wake(old);
#endif
                break
            :: swapped && old == LOOKING -> break
            :: else
            fi
        od;
        skip;
        d_step { work = work + late; late = false; old = 0; swapped = false }
    :: else -> break
    od
}

proctype worker() {
look:
#ifndef LOOK_FIRST
#ifdef WEAK_LOOK
    delayed = true;
#else
    word = LOOKING;
#endif
#endif
    if
    :: d_step { work > 0 -> work = 0 }
        word = BUSY;
        goto look
    :: work == 0
    fi;
#ifdef LOOK_FIRST
    word = LOOKING;
#endif
    if
    :: way = ON_THREAD
    :: way = AS_GOROUTINE
    :: way = IN_DEVICE
    fi;
    atomic { /* commit */
        if
        :: delayed -> word = LOOKING; delayed = false
        :: else
        fi;
        if
#ifdef COMMIT_STORE
        :: true -> word = way
#else
        :: word == LOOKING -> word = way; assert(token == 0)
        :: else -> goto look
#endif
        fi
    }
    if
    :: way == ON_THREAD ->
#ifdef BLIND_WAIT
        inFutex = true;
#else
        inFutex = word == ON_THREAD;
#endif
endOnThread:
        if
        :: !inFutex
        :: d_step { inFutex && early > 0 -> inFutex = false; early-- }
        fi
    :: way == AS_GOROUTINE ->
endAsGoroutine:
        if
        :: d_step { token > 0 -> token--; assert(word == WAKING) }
        :: early > 0 ->
            early--;
            if
            :: d_step { word == AS_GOROUTINE -> word = BUSY }
#ifdef TOKEN_LEFT
            :: word != AS_GOROUTINE
#else
            :: word != AS_GOROUTINE ->
endLate:
                d_step { token > 0 -> token-- }
#endif
            fi
        fi
    :: way == IN_DEVICE ->
        inDevice = true;
endInDevice:
        if
        :: woken
        :: !woken && early > 0 -> early--
        fi;
        d_step { woken = false; inDevice = false }
    fi;
    word = BUSY;
    goto look
}

#ifdef WEAK_LOOK
proctype storeBuffer() {
endDrained:
    do
    :: d_step { delayed -> delayed = false; word = LOOKING }
    od
}
#endif

init {
    atomic {
        run worker(); run notifier(); run notifier();
#ifdef WEAK_LOOK
        run storeBuffer();
#endif
    }
    timeout;
    assert(work == 0)
}
