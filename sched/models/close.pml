/* close.pml: a pool is closed while callers bring jobs and ask for results (sched/forkjoin/pool.go, outside.go, help.go).
 *
 * Each step here is one atomic operation, or one short section under a lock, of the Go code. A job is a number here, which is taken
 * once. One drainer at a time is enough to show what Close must wait for.
 *
 *   here       Go                          what
 *   admit      shared.admit                running++, then a load of closed; if that is set, gone
 *   gone       shared.gone                 running--; if that is 0, and closed is set, a signal to Close
 *   submitter  Submit, asTask              admit, the job is queued, call, gone
 *   helper     Future.help                 admit, takes a job off the queue and runs it, gone
 *   drainer    shared.drain, strand.leave  takes jobs, and runs or drops them; with none left, it counts down, looks once more, gone
 *   closer     Pool.Close, quiesce         closed, then waits until running is 0
 *
 * A job may submit one more while it runs (inner), which is run even if the pool is closed.
 *
 * What must hold: Close returns; when it has returned, no job waits or runs, no drainer is left, and none begins.
 *
 * Planted faults:
 *   CLOSED_FIRST    a caller loads closed before running++
 *   UNCOUNTED       Submit loads closed and is not counted
 *   HELP_UNCOUNTED  a helper is not counted
 *   GONE_FIRST      Submit counts down before it queues the job
 *   LEAVE_FIRST     a drainer counts down in running before its last look
 *   NO_SIGNAL       gone sends no signal
 */

byte running;      /* shared.running: callers from outside, and drainers */
bool closed, ended;
bool returned;     /* Close has */
byte jobs, inner;  /* that wait: from outside, and from a task of the pool */
byte activated;    /* load.active */
byte started;      /* drainers that have not begun */
byte put, ran, dropped;
bool submitted;    /* the job of a job */

inline gone() {
    d_step { running--; last = (running == 0) }
#ifndef NO_SIGNAL
    if
    :: last && closed -> ended = true
    :: else
    fi
#endif
}

inline start() {
    if
    :: atomic { activated == 0 -> activated++ } ->
        running++;
        started++
    :: activated > 0
    fi
}

/* A task runs, which may submit another one. */
inline run_() {
    assert(!returned);
    if
    :: atomic { !submitted -> submitted = true } ->
        d_step { inner++; put++ }
        start()
    :: true
    fi;
    assert(!returned);
    ran++
}

inline admit() {
#ifdef CLOSED_FIRST
    in = !closed;
    if
    :: in -> running++
    :: else
    fi
#else
    running++;
    in = !closed;
    if
    :: !in -> gone()
    :: else
    fi
#endif
}

proctype submitter() {
    bool in, last;

#ifdef UNCOUNTED
    in = !closed;
#else
    admit();
#endif
    if
    :: in ->
#ifdef GONE_FIRST
        gone();
#endif
        d_step { jobs++; put++ }
        start();
#if !defined(UNCOUNTED) && !defined(GONE_FIRST)
        gone()
#endif
    :: else
    fi
}

proctype helper() {
    bool in, last, taken;

#ifdef HELP_UNCOUNTED
    in = true;
#else
    admit();
#endif
    if
    :: in ->
        atomic {
            if
            :: jobs -> jobs--; taken = true
            :: else
            fi
        }
        if
        :: taken && closed -> dropped++
        :: taken && !closed -> run_()
        :: else
        fi;
#ifndef HELP_UNCOUNTED
        gone()
#endif
    :: else
    fi
}

proctype drainer() {
    bool last;

endNone:
    atomic { started -> started--; assert(!returned) }
next:
    if
    :: atomic { inner -> inner-- } ->
        run_();
        goto next
    :: atomic { jobs -> jobs-- } ->
        if
        :: closed -> dropped++
        :: else -> run_()
        fi;
        goto next
    :: !jobs && !inner
    fi;
    activated--;
#ifdef LEAVE_FIRST
    gone();
#endif
    if
    :: jobs || inner -> start()
    :: else
    fi;
#ifndef LEAVE_FIRST
    gone();
#endif
    goto endNone
}

active proctype closer() {
    closed = true;
    do
    :: running > 0 -> atomic { ended -> ended = false }
    :: running == 0 -> break
    od;
    returned = true;
    assert(!jobs && !inner && !started)
}

init {
    atomic { run submitter(); run submitter(); run helper(); run drainer(); run drainer() }
    timeout;
    assert(returned);
    assert(!jobs && !inner && running == 0);
    assert(put == ran + dropped)
}
