/* drainers.pml: which strand runs jobs whose results no caller has asked for yet: drainers are started, find no job, and end
 * (sched/forkjoin/drainer.go, form_deque.go).
 *
 * Each step here is one atomic operation, or one short section under a lock, of the Go code. A deque gives each item once
 * (deque.pml), so it is a number here, and so is the queue of injected jobs.
 *
 *   here       Go                         what
 *   start      shared.start               active below the limit: active++, by CompareAndSwap, and one drainer more
 *   look       deques.waiting, deactivate after active--: the injected jobs, then the deques of the strands in the list
 *   drainer    shared.run, deques.next    takes an injected job, or one of a strand; with neither it ends
 *   submitter  deques.submit              from outside: an injected job, then start
 *   strand     deques.push, takeBack,     a strand that forks two jobs, pops one and pushes it again since it wants the
 *              leave                      other, parks, goes on, forks once more, and ends
 *
 * The strand counts in active if it is on a worker of the scheduler (COUNTED); a goroutine does not. It, and each job, may
 * compute for ever, so no other can rely on what it will do next.
 *
 * What must hold: when nothing can move any more, no job waits if there are fewer active strands than the limit.
 *
 * Planted faults:
 *   NO_LOOK      a drainer or strand that ends does not look again
 *   LOOK_FIRST   it looks before active--
 *   WEAK_PUSH    the push is still in the store buffer when start loads active
 *   QUIET_PUSH   takeBack pushes what it has popped without start
 *   QUIET_MOVE   leave injects the jobs of the deque without start
 *   START_STORE  start stores active without comparing
 */

#ifndef LIMIT
#define LIMIT 1
#endif

byte activated; /* shared.active: strands that count, and drainers */
byte injected;  /* how many jobs */
byte own;       /* in the deque of the strand */
byte delayed;   /* WEAK_PUSH: in the store buffer */
bool listed;    /* the strand is in the list */
byte started;   /* drainers that have not begun */
byte put, begun;

inline start() {
#ifdef START_STORE
    n = activated;
    if
    :: n < LIMIT -> activated = n + 1; started++
    :: else
    fi;
    n = 0
#else
    atomic {
        if
        :: activated < LIMIT -> activated++; started++
        :: else
        fi
    }
#endif
}

inline look() {
    if
    :: injected -> start()
    :: !injected ->
        if
        :: listed && own -> start()
        :: !listed || !own
        fi
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
    :: activated > LIMIT -> goto leave
    :: activated <= LIMIT
    fi;
    if
    :: atomic { injected -> injected--; goto run_ }
    :: !injected
    fi;
    if
    :: atomic { listed && own -> own--; goto run_ }
    :: !listed || !own
    fi;
leave:
    deactivate();
    goto endNone;
run_:
    atomic {
        begun++;
        if
        :: goto next
        :: true
        fi
    }
endBusy:
    false /* it computes for ever */
}

proctype submitter() {
    byte n;

    atomic { injected++; put++ }
    start()
}

inline push() {
#ifdef WEAK_PUSH
    delayed++;
#else
    own++;
#endif
    start()
}

inline enter() {
    listed = true;
#ifdef COUNTED
    activated++
#endif
}

inline leave() {
    do
    :: atomic { own -> own-- }
        injected++;
#ifndef QUIET_MOVE
        start()
#endif
    :: !own && !delayed -> break
    od;
    listed = false;
#ifdef COUNTED
    deactivate()
#endif
}

proctype strand() {
    byte n;

    enter();
    put++; push();
    put++; push();
    if /* takeBack */
    :: atomic { own -> own-- }
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

#ifdef WEAK_PUSH
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
#ifdef WEAK_PUSH
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
