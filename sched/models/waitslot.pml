/* waitslot.pml: a WaitSlot, on which one worker sleeps and which other threads wake (sched/waitslot.go).
 *
 * Each step here is one atomic operation, or one system call, of the Go code:
 *
 *   here       Go                 what
 *   wake       WaitSlot.Wake      count.Add(1); FUTEX_WAKE if the count was 0
 *   stop       PersistentWake     count.Store(many); FUTEX_WAKE
 *   wait       WaitSlot.Wait      count.Add(-1); if the count was 1, FUTEX_WAIT while it is 0
 *   giveBack   WaitSlot.Wait      at a deadline: CompareAndSwap(0, 1); if it fails, the wait was woken
 *
 * FUTEX_WAIT tests the count and goes to sleep in one step, as futex(2) promises. It may also return for no reason.
 *
 * What must hold. A wake is either received by the wait that is under way, or kept for the next wait, and never both:
 * kept counts the wakes that no wait has received. So no wait returns without a wake or a deadline, a wait reports its
 * deadline only if no wake came before, and the worker does not sleep while a wake is kept. Once stopped, it never
 * sleeps again.
 *
 * Planted faults:
 *   PLAIN_ADD    at a deadline the count is given back by a load and a store: that may undo the stop
 *   ATOMIC_ADD   it is given back by an atomic add: a wake that came at the deadline ends the next wait too
 *   NOT_BACK     it is not given back at all: the next wait takes that for a wake kept for it
 *   NOT_KEPT     wake does not count: a wake that comes before the wait is lost
 *   NO_RECHECK   wait takes any return of FUTEX_WAIT for a wake
 */

#define WAKES 2   /* of each of two threads */
#define WAITS 4
#define MANY  100 /* more than all waits take */

short count = 1;
bool asleep;      /* the worker is in FUTEX_WAIT */
bool stopped;
byte early = 2;   /* how often FUTEX_WAIT may still return for no reason: else nothing would ever be at rest */
byte kept;

proctype waker() {
    byte n;
    short before;

    do
    :: n < WAKES ->
        d_step {
#ifdef NOT_KEPT
            before = 0;
#else
            before = count;
            count++;
#endif
            kept++;
        }
        if
        :: before == 0 -> asleep = false /* FUTEX_WAKE */
        :: else
        fi;
        n++
    :: else -> break
    od
}

proctype stopper() {
    d_step { count = MANY; stopped = true }
    asleep = false
}

/* received says that the worker has received a wake. */
inline received() {
    assert(kept > 0 || stopped);
    if
    :: kept > 0 -> kept--
    :: else
    fi
}

proctype worker() {
    byte n;
    bool timed, passed; /* the wait has a deadline; it has passed */
    short before;

    do
    :: n < WAITS || stopped && n < WAITS + 2 ->
        n++;
        passed = false;
        if
        :: timed = true
        :: timed = false
        fi;
        d_step {
            before = count;
            count--;
            if
            :: before != 1 -> received() /* kept from before, or stopped */
            :: else
            fi
        }
        do
        :: before == 1 ->
            atomic { /* FUTEX_WAIT */
                if
                :: count == 0 -> asleep = true
                :: else
                fi
            }
            if
            :: !asleep
            :: asleep && timed -> d_step { asleep = false; passed = true }
            :: asleep && early > 0 -> d_step { asleep = false; early-- }
            fi;
#ifdef NO_RECHECK
            if
            :: !passed -> received(); break
            :: else
            fi;
#endif
            if
            :: d_step { count != 0 -> received() }; break
            :: count == 0 && !passed
            :: count == 0 && passed ->
#if defined(PLAIN_ADD)
                before = count;
                count = before + 1;
                break
#elif defined(ATOMIC_ADD)
                d_step { count++; assert(kept == 0 || stopped) }
                break
#elif defined(NOT_BACK)
                break
#else
                d_step { /* giveBack */
                    if
                    :: count == 0 -> count = 1; assert(kept == 0 && !stopped)
                    :: else -> received()
                    fi
                }
                break
#endif
            fi
        :: else -> break
        od
    :: else -> break
    od
}

/* At rest, the worker sleeps on only if no wake is kept for it. */
init {
    atomic { run worker(); run waker(); run waker(); run stopper() }
    timeout;
    assert(!asleep || kept == 0 && !stopped)
}
