/* engine.pml: how an engine waits in its ring, is woken, and ends (sched/uring/engine.go, dispatch/context.go, ring.go, ring.c).
 *
 * Each step here is one atomic operation, or one system call, of the code:
 *
 *   here       code                     what
 *   put        taskQueue.put            a task is queued
 *   post       Engine.beginElsewhere    a request comes into the mailbox unless that is closed
 *   kick       Engine.Kick              something has changed that the engine must look at: kicked.Store(true)
 *   wakeup     Engine.wakeup            if asleep: waking.Add(1), asleep.Swap(false), perhaps wake, waking.Add(-1)
 *   wake       ring.wake                write(2) to the eventfd
 *   openMail   Engine.openMail          all is taken out of the mailbox, and staged
 *   look       Engine.turn              asleep.Swap(true), then hasRequests, kicked, one after the other
 *   enter      fiberlab_ring_turn       watches the eventfd unless that is under way, and submits what is staged
 *   wait       io_uring_enter           until there is a completion
 *   collect    collect                  takes completions; those of the eventfd are counted
 *   idle       ring.idle                a turn that does not wait; if it has collected nothing, it waits, and collects
 *   deinit     Engine.deinit            closes the mailbox, late requests are over, waits for waking to be 0, closes the ring
 *
 * The eventfd is watched by a poll request. It completes for each write, or once for several; it may end at any time, and then the next turn makes it anew. No
 * thread reads the eventfd, so the new request completes at once if anything was ever written.
 *
 * The engine is a worker's device (Engine.Wait): what has been kicked for is looked at after kicked has been reset. With ALONE it has its own thread (runAlone): kicked is reset
 * first, and what has changed is looked at last before the wait.
 *
 * What must hold: the ring is not written to once it is closed. When nothing can move any more, no task is queued unless the engine has ended, each
 * request that was accepted is over, and an engine that was told to end has ended.
 *
 * Planted faults:
 *   NO_SECOND_LOOK the engine does not look once it has said that it is asleep
 *   LOOK_FIRST     it looks, and says that it is asleep only then
 *   WEAK_ASLEEP    the store of asleep is delayed past the look, as by a store buffer
 *   WAKE_FIRST     a task is queued after the engine has been woken
 *   EARLY_RESET    kicked is reset between the look at what has changed and the wait
 *   NO_REARM       the eventfd is not watched anew
 *   USED_UP        idle waits although its first turn has collected a wake-up
 *   NO_WAKING      deinit does not wait for threads that are about to wake
 *   LATE_LOST      deinit closes the mailbox without a look at what is there
 *   NO_REFUSAL     an engine that has ended takes requests
 */

byte tasks;             /* queued */
byte mail, staged;      /* requests in the mailbox, and in the next batch */
byte inKernel, done;    /* requests that are carried out, and completions */
byte accepted, over;    /* requests so far */
byte waking;
bool asleep, kicked, stop;
bool delayed;           /* WEAK_ASLEEP: the new value of asleep is still in the store buffer */
bool noMore, closed, ended;
bool written;           /* the eventfd has a count */
bool watched;           /* the proxy's view: the request is under way */
bool armed;             /* the kernel's view */
bool event;             /* a completion of that request waits */

/* complete the poll request: it may be over with that. */
inline notice() {
    event = true;
    if
    :: armed = false
    :: true
    fi
}

inline wakeup() {
    if
    :: !asleep -> skip
    :: asleep ->
        waking++;
        atomic {
            if
            :: asleep -> asleep = false; found = true
            :: else -> found = false
            fi
        }
        if
        :: found ->
            atomic { /* wake */
                assert(!closed);
                written = true;
                if
                :: armed -> notice()
                :: else
                fi
            }
        :: else
        fi;
        atomic { waking--; found = false }
    fi
}

proctype submitter() {
    bool found;

#ifdef ALONE /* it has no tasks */
    skip
#elif defined(WAKE_FIRST)
    kicked = true; /* kick */
    wakeup();
    tasks++
#else
    tasks++;       /* put */
    kicked = true; /* kick */
    wakeup()
#endif
}

proctype requester() {
    bool found;

    atomic { /* post */
        if
#ifndef NO_REFUSAL
        :: noMore -> goto end
#endif
        :: else -> mail++; accepted++
        fi
    }
    wakeup();
end:
    skip
}

/* It ends the engine, or does not. */
proctype stopper() {
    bool found;

    if
    :: goto end
    :: stop = true
    fi;
    kicked = true;
    wakeup();
end:
    skip
}

proctype kernel() {
endIdle:
    do
    :: atomic { inKernel > 0 -> inKernel--; done++ }
    od
}

inline openMail() { atomic { staged = staged + mail; mail = 0 } }

inline enter() {
    atomic {
        if
#ifdef NO_REARM
        :: !watched && !written ->
#else
        :: !watched ->
#endif
            watched = true;
            armed = true;
            if
            :: written -> notice()
            :: else
            fi
        :: else
        fi;
        inKernel = inKernel + staged;
        staged = 0
    }
}

inline collect() {
    atomic {
        any = done > 0 || event;
        over = over + done;
        done = 0;
        if
        :: event ->
            event = false;
            watched = armed
        :: else
        fi
    }
}

proctype engine() {
    bool any, busy;

loop:
#if defined(ALONE) || defined(EARLY_RESET)
    kicked = false;
#endif
    if
    :: stop -> goto drain
    :: !stop
    fi;
poll: /* pollSubmit */
    openMail();
#ifdef LOOK_FIRST
    busy = mail > 0; busy = busy || kicked;
    asleep = true;
#else
#ifdef WEAK_ASLEEP
    delayed = true;
#else
    asleep = true;
#endif
#ifndef NO_SECOND_LOOK
    if
    :: mail > 0 -> goto now
    :: mail == 0
    fi;
    if
    :: kicked -> goto now
    :: !kicked
    fi;
#endif
#endif
    atomic {
        if
        :: delayed -> asleep = true; delayed = false
        :: else
        fi
    }
    if
    :: busy -> goto now
    :: !busy -> /* a turn that waits */
        enter();
endTurn:
        done > 0 || event;
        collect()
    :: !busy -> /* idle */
        enter();
        collect();
        if
#ifdef USED_UP
        :: false
#else
        :: any
#endif
        :: else ->
endIdle:
            done > 0 || event;
            enter();
            collect()
        fi
    fi;
    goto awake;
now: /* a turn that does not wait */
    enter();
    collect();
awake:
    atomic { asleep = false; delayed = false; busy = false; any = false }
#ifndef ALONE
#ifndef EARLY_RESET
    kicked = false;
#endif
#endif
    tasks = 0; /* a round */
    if
    :: stop -> goto drain
    :: else -> goto loop
    fi;

drain:
    openMail();
    if
    :: staged + inKernel + done > 0 -> goto poll /* they are cancelled, so they complete */
    :: else
    fi;

    /* deinit */
#ifdef LATE_LOST
    noMore = true;
#else
    atomic { over = over + mail; mail = 0; noMore = true }
#endif
#ifndef NO_WAKING
    waking == 0;
#endif
    closed = true;
    ended = true
}

#ifdef WEAK_ASLEEP
proctype storeBuffer() {
endDrained:
    do
    :: d_step { delayed -> asleep = true; delayed = false }
    od
}
#endif

init {
    atomic {
        run engine();
        run kernel();
        run submitter();
        run requester();
        run stopper();
#ifdef WEAK_ASLEEP
        run storeBuffer();
#endif
    }
    timeout;
    assert(over == accepted);
    assert(ended || tasks == 0);
    assert(ended || !stop)
}
