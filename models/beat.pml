/* beat.pml: how the thread of the beat sleeps and is woken (sched/forkjoin/beat.c, beat.go).
 *
 * Each step here is one atomic operation or one system call.
 *
 *   here     code                what
 *   thread   beat                counts quiet periods, then sleeps, see sleep_until_busy; ends when it is stopped
 *   strand   busy, idle          busy++, then wakes the thread if it sleeps; busy--
 *   stopper  fiberlab_beat_set   period 0, changes++, FUTEX_WAKE
 *
 * A period ends whenever it likes. Two strands make their pools busy and idle in any order, and one may stay busy for ever.
 *
 * What must hold: when nothing can move any more, the thread does not sleep while a pool is busy, and when it was told to
 * stop it has ended.
 *
 * Planted faults:
 *   NO_LOOK      the thread does not look for busy pools once more after it has said that it sleeps
 *   WEAK_ASLEEP  its store of asleep is delayed past that look, as by a store buffer
 *   LATE_SEEN    it loads changes after it has looked whether to stop
 *   NO_CHANGE    a strand wakes the thread without a change of the futex
 */

#define QUIET 1

byte busy, changes;
bool asleep, delayed; /* WEAK_ASLEEP: asleep is still in the store buffer */
bool stop, inFutex, ended;

/* FUTEX_WAKE */
inline wake() { inFutex = false }

proctype thread() {
    byte seen, quiet;

loop:
#ifdef LATE_SEEN
    if
    :: stop -> goto end
    :: !stop
    fi;
    seen = changes;
#else
    seen = changes;
    if
    :: stop -> goto end
    :: !stop
    fi;
#endif
    if
    :: quiet < QUIET ->
        if
        :: busy > 0 -> quiet = 0 /* a beat */
        :: busy == 0 -> quiet++
        fi;
        goto loop
    :: else -> quiet = 0
    fi;
#ifdef WEAK_ASLEEP
    delayed = true;
#else
    asleep = true;
#endif
#ifndef NO_LOOK
    if
    :: busy > 0 -> goto awake
    :: busy == 0
    fi;
#endif
    atomic { /* FUTEX_WAIT */
        if
        :: delayed -> asleep = true; delayed = false
        :: else
        fi;
        inFutex = changes == seen
    }
endAsleep:
    !inFutex;
awake:
    atomic { asleep = false; delayed = false; seen = 0 }
    goto loop;
end:
    ended = true
}

proctype strand() {
    byte rounds;

    do
    :: rounds < 2 ->
        rounds++;
        busy++;
        if
        :: atomic { asleep -> asleep = false }
#ifndef NO_CHANGE
            changes++;
#endif
            wake()
        :: !asleep
        fi;
        if
        :: goto endBusy
        :: true
        fi;
        busy--
    :: true -> break
    od;
    goto end;
endBusy:
    false;
end:
    skip
}

proctype stopper() {
    stop = true;
    changes++;
    wake()
}

#ifdef WEAK_ASLEEP
proctype storeBuffer() {
endDrained:
    do
    :: d_step { delayed -> delayed = false; asleep = true }
    od
}
#endif

init {
    atomic {
        run thread(); run strand(); run strand();
        if
        :: run stopper()
        :: true
        fi;
#ifdef WEAK_ASLEEP
        run storeBuffer();
#endif
    }
    timeout;
    assert(!stop || ended);
    assert(!inFutex || busy == 0)
}
