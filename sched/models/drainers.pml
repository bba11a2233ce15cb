/* drainers.pml: which strand runs jobs whose results no caller has asked for yet: drainers are started, look for a job, and end
 * (sched/forkjoin/drainer.go, form_deque.go, form_heartbeat.go).
 *
 * Each step here is one atomic operation, or one short section under a lock, of the Go code. A deque or a list of forks gives each item once
 * (deque.pml, forks.pml), so it is a number here, and so is the queue of injected jobs.
 *
 *   here       Go                         what
 *   call       shared.call, load.claim    active below the limit, and no drainer is looking: one drainer more, which counts in both
 *   look       form.waiting               the injected jobs, then the jobs of the strands in the set
 *   drainer    shared.drain, strand.look  takes an injected job, or one of a strand, and looks no more; if it was the last one
 *                                         that looked, it sees to what is left; without a job it ends
 *   submitter  submit                     from outside: an injected job, then call
 *   strand     push, takeBack, publish    a strand that forks two jobs, pops one and pushes it again since it wants the
 *                                         other, parks, goes on, forks once more, and ends
 *
 * The strand counts in active if it is on a worker of the scheduler (COUNTED); a goroutine does not. It, and each job, may
 * compute without end, so no other can rely on what it will do next. A drainer may end after any job, since other tasks need its worker.
 * It may also end although there is a job, since it has to wait a beat, or since a strand lets other tasks go first.
 *
 * PRIVATE is the heartbeat: the strand's push is without a fence, so it is in a store buffer for a while. Who looks for the
 * jobs of strands executes a barrier before, which empties that.
 *
 * What must hold: when nothing can move any more, no job waits if there are fewer active strands than the limit.
 *
 * Planted faults:
 *   NO_LOOK      a drainer or strand that ends does not look again
 *   LOOK_FIRST   it looks before active--
 *   NO_PASS_ON   a drainer that has found a job does not see to what is left
 *   WEAK_PUSH    the push is still in the store buffer when call loads active
 *   NO_BARRIER   the same under PRIVATE: no barrier before the look
 *   QUIET_PUSH   takeBack pushes what it has popped without call
 *   CLAIM_STORE  claim stores active without comparing
 */

#ifndef LIMIT
#define LIMIT 1
#endif

byte activated; /* strands that count, and drainers */
byte looking;   /* drainers that look for a job, or will */
byte injected;  /* how many jobs */
byte own;       /* in the deque or the list of the strand */
byte delayed;   /* WEAK_PUSH, PRIVATE: in the store buffer */
bool listed;    /* the strand is in the set */
byte started;   /* drainers that have not begun */
byte put, begun;

#define WANTED (activated < LIMIT && looking == 0)

inline call() {
#ifdef CLAIM_STORE
    n = activated;
    if
    :: n < LIMIT && looking == 0 -> activated = n + 1; looking++; started++
    :: else
    fi;
    n = 0
#else
    atomic {
        if
        :: WANTED -> activated++; looking++; started++
        :: else
        fi
    }
#endif
}

inline barrier() {
#if defined(PRIVATE) && !defined(NO_BARRIER)
    d_step { own = own + delayed; delayed = 0 }
#else
    skip
#endif
}

inline look() {
    if
    :: WANTED ->
        if
        :: injected -> call()
        :: !injected ->
            barrier();
            if
            :: listed && own -> call()
            :: !listed || !own
            fi
        fi
    :: else
    fi
}

inline deactivate() {
#ifdef LOOK_FIRST
    look();
    activated--
#else
    activated--;
#ifndef NO_LOOK
    look()
#endif
#endif
}

proctype drainer() {
    byte n;

endNone:
    atomic { started -> started-- }
next:
    if
    :: goto none
    :: activated <= LIMIT
    fi;
    if
    :: atomic { injected -> injected--; goto found }
    :: !injected
    fi;
    if
    :: atomic { listed && own -> own--; goto found }
    :: !listed || !own
    fi;
none:
    looking--;
    goto leave;
found:
    begun++;
    looking--;
#ifndef NO_PASS_ON
    look();
#endif
    if
    :: looking++; goto next
    :: goto leave
    :: goto endBusy
    fi;
leave:
    deactivate();
    goto endNone;
endBusy:
    false /* it computes for ever */
}

proctype submitter() {
    byte n;

    atomic { injected++; put++ }
    call()
}

inline push() {
#if defined(WEAK_PUSH) || defined(PRIVATE)
    delayed++;
#else
    own++;
#endif
    call()
}

inline enter() {
    listed = true;
#ifdef COUNTED
    activated++
#endif
}

inline leave() {
    do
    :: atomic { own + delayed -> /* the strand sees what it has pushed, and takes its lock */
        own = own + delayed - 1; delayed = 0 }
        injected++
    :: own + delayed == 0 -> break
    od;
    listed = false;
#ifdef COUNTED
    deactivate()
#else
    look()
#endif
}

proctype strand() {
    byte n;

    enter();
    put++; push();
    put++; push();
    if /* takeBack */
    :: atomic { own + delayed -> own = own + delayed - 1; delayed = 0 }
#ifdef QUIET_PUSH
        own++
#else
        push()
#endif
    :: true
    fi;
    if
    :: goto endBusy
    :: true
    fi;
    leave(); /* parks */
    enter();
    put++; push();
    if
    :: goto endBusy
    :: true
    fi;
    leave();
    goto end;
endBusy:
    false;
end:
    skip
}

#if defined(WEAK_PUSH) || defined(PRIVATE)
proctype storeBuffer() {
endDrained:
    do
    :: d_step { delayed -> delayed--; own++ }
    od
}
#endif

init {
    byte i;
    atomic {
        for (i : 0 .. LIMIT) { run drainer() } /* one may be about to end when the next begins */
        run submitter(); run strand();
#if defined(WEAK_PUSH) || defined(PRIVATE)
        run storeBuffer();
#endif
    }
    timeout;
    assert(put == begun + injected + own);
    assert(listed || own == 0);
    assert(injected + own == 0 || activated >= LIMIT);
#ifndef COUNTED
    assert(activated <= LIMIT)
#endif
}
