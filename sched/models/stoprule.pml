/* stoprule.pml: the counters of an engine, and when a context that is used alone stops itself (sched/uring/engine.go, dispatch/context.go).
 *
 * Each step here is one atomic operation of the code, or a part of it that no other thread sees:
 *
 *   here          Go                           what
 *   put           taskQueue.put                a task is queued
 *   round         taskQueue.round              the tasks that are queued at that moment begin
 *   begin         Engine.begin                 a task asks for input or output: submitted.Add(1), and the request is staged
 *   elsewhere     Engine.beginElsewhere        a goroutine does: submitted.Add(1), and then the request comes into the mailbox; if that is closed, submitted.Add(-1)
 *                                              and Kick
 *   closer        Engines.Close                the engine is to refuse requests
 *   refuse        Engine.refuse                the mailbox is closed, and the requests in it are over: submitted.Add(-1) for each
 *   helper        primitives                   a task that waits for another thread is suspended until this one has come
 *   countRunning  Engine.countRunning          n = submitted.Load(); if that is above 0, running.Add(n); submitted.Add(-n)
 *   complete      Engine.complete              running.Add(-1) unless the request is internal; its task goes on
 *   rule          contextDevice.nothingLeft    no task is queued, none is suspended, the engine is Idle: submitted, read first, and running are 0 together
 *   watcher       Engine.Pending               another thread reads submitted, and then running
 *
 * The first task ends at once, or waits for input, or for another thread. Waits of the engine are ideal here, they end when there is anything to do: how that is
 * done is in engine.pml.
 *
 * What must hold: when the rule holds, nothing that was there before it was tested is left. running does not fall below 0. The watcher never finds nothing under way while something is.
 * When nothing can move any more, the context has stopped, and the counters are 0 together: a request that is refused may have been moved to running already.
 *
 * Planted faults:
 *   STORE_ZERO       countRunning stores 0, and does not subtract what it has counted
 *   SUBTRACT_FIRST   countRunning subtracts before it adds
 *   LATE_COUNT       beginElsewhere counts a request when it is in the mailbox already
 *   NOT_SUSPENDED    nothing counts tasks that are suspended
 *   NOT_RUNNING      the rule does not look at running
 *   COUNTS_INTERNAL  internal requests count
 *   EACH_ZERO        the rule wants each counter to be 0
 *   NO_KICK          a goroutine whose request is refused does not kick the engine
 *   REFUSE_WAITS     the engine waits after it has refused the requests in the mailbox
 */

#ifdef COUNTS_INTERNAL
#define INTERNAL 1
#else
#define INTERNAL 0
#endif

byte tasks;               /* queued */
byte suspended;           /* tasks that have begun and not ended; no task runs when the rule is tested */
byte waiting;             /* of them, for another thread */
short submitted, running; /* the counters */
byte mail, staged;        /* requests */
byte ofTasks, ofOthers;   /* requests that the kernel carries out. There is an internal one besides, a timeout that is far ahead */
byte live;                /* requests that have begun and are not over, in truth */
byte completions;         /* so far */
bool came;                /* the other thread */
bool stopped;
bool stopping, closed;    /* the engine is to refuse requests, and does */
bool kicked;

proctype submitter() { tasks++ }

proctype elsewhere() {
#ifdef LATE_COUNT
    atomic { mail++; live++ }
    submitted++
#else
    submitted++;
    if
    :: atomic { !closed -> mail++; live++ }
    :: closed ->
        submitted--;
#ifndef NO_KICK
        kicked = true
#endif
    fi
#endif
}

proctype closer() { stopping = true }

proctype helper() { came = true }

proctype watcher() {
    byte was, before;
    short n;

    d_step { was = live; before = completions; n = submitted }
    d_step {
        n = n + running;
        assert(n > 0 || was == 0 || completions != before)
    }
}

inline complete() {
    live--;
    completions++;
    running--;
    assert(running >= 0)
}

proctype engine() {
    byte was;
    short n;

round:
    atomic { /* what a task does until it is suspended, no other thread sees, but for submitted */
        do
        :: tasks == 0 -> break
        :: tasks > 0 ->
            tasks--;
            if
            :: true /* it ends */
            :: suspended++; submitted++; staged++; live++
            :: suspended++; waiting++
            fi
        od
    }

    /* rule */
    was = live;
    if
    :: tasks > 0 -> goto poll
    :: tasks == 0
    fi;
#ifndef NOT_SUSPENDED
    if
    :: suspended > 0 -> goto poll
    :: else
    fi;
#endif
    n = submitted;
#ifdef EACH_ZERO
    if
    :: n != 0 -> goto poll
    :: else
    fi;
#endif
#ifndef NOT_RUNNING
    n = n + running;
#endif
    if
    :: n != 0 -> n = 0; goto poll
    :: else
    fi;
    assert(was == 0 && suspended == 0);
    stopped = true;
    goto drain;

poll:
    atomic { /* refuse */
        if
        :: stopping && !closed -> closed = true; submitted = submitted - mail; live = live - mail; completions = completions + mail; mail = 0;
#ifndef REFUSE_WAITS
            kicked = true
#endif
        :: else
        fi
    }
    atomic { ofOthers = ofOthers + mail; mail = 0 } /* openMail */
    n = (submitted > 0 -> submitted : 0);
#ifdef SUBTRACT_FIRST
    submitted = submitted - n;
    running = running + n;
#else
    running = running + n;
#ifdef STORE_ZERO
    submitted = 0;
#else
    submitted = submitted - n;
#endif
#endif
    atomic { ofTasks = ofTasks + staged; staged = 0; n = 0 }
endWait:
    if
    :: atomic { ofTasks > 0 -> ofTasks--; complete(); suspended-- } /* its task ends */
    :: atomic { ofOthers > 0 -> ofOthers--; complete() }
    :: atomic { came && waiting > 0 -> waiting--; suspended-- }
    :: tasks > 0
    :: mail > 0
    :: atomic { kicked -> kicked = false }
    fi;
    goto round;

drain: /* what comes late is ended */
endDrained:
    do
    :: atomic { mail > 0 -> mail--; live--; completions++; submitted-- }
    od
}

init {
    atomic {
        running = INTERNAL;
        run engine();
        run submitter();
        run elsewhere();
        run elsewhere();
        run closer();
        run helper();
        run watcher()
    }
    timeout;
    assert(stopped);
    assert(live == 0 && submitted + running == 0)
}
