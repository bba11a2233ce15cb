/* quiescence.pml: how Close finds out that a scheduler has come to its end (sched/deadlock.go, sched/close.go, sched/bind.go).
 *
 * Each step here is one atomic operation of the Go code, or one short section under a lock:
 *
 *   here     Go                              what
 *   worker   Worker.waitForWork, sleep       dry is counted; the worker looks, and sleeps; it signals Close if that listens
 *   end      Worker.ends                     after shutDown: the worker has nothing left, and ends
 *   bound    Unbind                          a bound goroutine notifies a fiber, and leaves
 *   caller   Notify in a blocking call       the call is counted while it is under way
 *   enqueue  Scheduler.enqueue               a goroutine outside has passed the check of closing, and queues its task
 *   visit    Scheduler.visit, survey         one worker after the other, twice
 *   closer   Scheduler.close                 steps 1 to 5
 *
 * Two workers share a queue of tasks and ready fibers. The first task blocks. With NOTIFIER=1 the bound goroutine notifies its fiber, with NOTIFIER=2
 * a blocking call, and then a task queues one more. With ENQUEUE no one does, the first task may also end, and a goroutine outside queues a task for
 * both workers, or with PINNED for one. Waits of workers have the word of idle.pml.
 *
 * What must hold: when Close has found the end, no task waits or runs, no fiber is blocked, and none comes later. It reports a deadlock only if no
 * one will notify the blocked fiber. If a survey finds the scheduler quiet, nothing ran between its two visits. When nothing can move any more, Close
 * has returned, and after the end all workers have, too.
 *
 * Planted faults:
 *   ONE_VISIT     survey visits the workers once
 *   NO_DRY        the second visit compares everything but dry
 *   LATE_DRY      a worker counts in dry when it sleeps, and not before it looks
 *   DRY_FIRST     a visit reads dry before it looks whether the worker sleeps
 *   WORD_FIRST    a visit looks into the mailbox when it has seen that the worker sleeps
 *   NO_MAILBOX    a visit does not look at the mailboxes
 *   NO_SIGNAL     a worker that falls asleep does not signal Close
 *   SIGNAL_FIRST  a worker signals Close before it sleeps
 *   LATE_LISTEN   Close says that it listens only after its first survey
 *   ONE_SURVEY    Close closes the queues, and does not survey again
 *   OPEN_QUEUES   Close closes no queues
 *   CALL_FIRST    a blocking call is counted out before it notifies
 *   LEAVE_SIGNAL  a goroutine signals Close before it is unbound
 */

#define W 2 /* workers that the scheduler has made */

#ifndef NOTIFIER
#define NOTIFIER 0 /* who notifies the fiber: 0 no one, 1 the bound goroutine, 2 a blocking call */
#endif

#ifdef ENQUEUE
#define MORE false
#else
#define MORE true
#endif

#define BUSY    0
#define LOOKING 1
#define WAKING  2
#define ASLEEP  3

byte word[W];
byte dry[W];         /* since Close began to survey: only a difference has a meaning */
bool surveys;        /* it does */
short blocked[W];    /* one worker blocks a fiber, and another may resume it: only the sum has a meaning */
byte mailbox[W];     /* tasks that only this worker may begin */
bool boxClosed[W];
byte tasks;          /* in the shared queue */
bool ready;          /* the fiber is in the shared queue */
bool closed;         /* it refuses what comes from outside */
bool isBound = NOTIFIER == 1, calls = NOTIFIER == 2;
bool closing, listening, news, over;
bool shutdown[W], done[W];
byte running;        /* tasks and fibers on workers: the proof's own count */

bool more = MORE;    /* a task may still queue one */
bool used, waits;    /* the task that blocks has begun; its fiber is blocked */
bool closeReturned, deadlock;

inline notify(i) { /* Word.Notify, whose steps idle.pml has */
    atomic {
        if
        :: word[i] == LOOKING -> word[i] = BUSY
        :: word[i] == ASLEEP -> word[i] = WAKING
        :: else
        fi
    }
}

/* One worker that looks or sleeps is notified. If both are busy, each looks before it sleeps. */
inline wakeOne() {
    atomic {
        if
        :: word[0] == ASLEEP -> word[0] = WAKING
        :: word[0] != ASLEEP && word[1] == ASLEEP -> word[1] = WAKING
        :: word[0] != ASLEEP && word[1] != ASLEEP ->
            if
            :: word[0] == LOOKING -> word[0] = BUSY
            :: word[0] != LOOKING && word[1] == LOOKING -> word[1] = BUSY
            :: else
            fi
        fi
    }
}

/* The fiber is made ready, once it is blocked. */
inline wakeFiber() {
    atomic { waits -> waits = false; ready = true };
    wakeOne()
}

inline begin(i) { /* a task runs */
    if
    :: atomic { !used -> used = true; blocked[i]++; waits = true; running-- }
    :: atomic { used && more -> more = false; tasks++ };
        atomic { wakeOne(); running-- }
    :: atomic { used || NOTIFIER == 0 -> running-- }
    fi
}

#define hasWork(i) (tasks > 0 || ready || mailbox[i] > 0)

proctype worker(byte i) {
next:
    if
    :: atomic { mailbox[i] > 0 -> mailbox[i]--; running++ };
        begin(i);
        goto next
    :: atomic { tasks > 0 -> tasks--; running++ };
        begin(i);
        goto next
    :: atomic { ready -> ready = false; blocked[i]-- }; /* the fiber goes on, and ends */
        goto next
    :: atomic {
            !hasWork(i) ->
#ifndef LATE_DRY
            dry[i] = dry[i] + surveys
#endif
        }
    fi;
look:
    word[i] = LOOKING;
    if
    :: atomic { hasWork(i) -> word[i] = BUSY };
        goto next
    :: atomic { !hasWork(i) && !shutdown[i] -> skip }
    :: atomic { !hasWork(i) && shutdown[i] -> skip };
        goto end
    fi;
#ifdef SIGNAL_FIRST
    if
    :: listening -> news = true
    :: !listening
    fi;
#endif
    if
    :: d_step { word[i] == LOOKING -> word[i] = ASLEEP }
    :: word[i] != LOOKING -> goto look
    fi;
#ifdef LATE_DRY
    dry[i] = dry[i] + surveys;
#endif
#if !defined(NO_SIGNAL) && !defined(SIGNAL_FIRST)
    if
    :: listening -> news = true
    :: !listening
    fi;
#endif
endAsleep:
    word[i] != ASLEEP;
    goto look;
end:
    done[i] = true
}

/* The goroutine computes, and binds the scheduler all the time. It may notify the fiber. What it has left to do when it unbinds is nothing here. */
proctype bound() {
    wakeFiber();
#ifdef LEAVE_SIGNAL
    news = true;
    isBound = 0
#else
    isBound = 0;
    news = true
#endif
}

/* A goroutine that has seen that the scheduler does not close, before it did. */
proctype enqueue() {
    bool accepted;
    if
    :: !closing ->
#ifdef PINNED
        d_step { accepted = !boxClosed[1]; mailbox[1] = mailbox[1] + accepted; assert(!accepted || !over) }
        if
        :: accepted -> notify(1)
        :: !accepted
        fi
#else
        d_step { accepted = !closed; tasks = tasks + accepted; assert(!accepted || !over) }
        if
        :: accepted -> wakeOne()
        :: !accepted
        fi
#endif
    :: closing
    fi
}

proctype caller() {
#ifdef CALL_FIRST
    calls--;
    wakeFiber()
#else
    wakeFiber();
    calls--
#endif
}

byte i_;
bool queued_;
byte bound_, calls_;
short dry_, blocked_;
bool quiet_;

#ifdef NO_MAILBOX
#define lookMailbox skip
#else
#define lookMailbox quiet_ = quiet_ && mailbox[i_] == 0
#endif

/* Once a visit has found that the scheduler is not quiet, the rest has no meaning. */
inline visit() {
    atomic { bound_ = isBound; quiet_ = bound_ == 0; dry_ = 0; blocked_ = 0; i_ = 0 } /* the worker of a goroutine that computes is busy */
    queued_ = tasks + ready > 0;
    do
    :: quiet_ && i_ < W ->
#ifdef DRY_FIRST
        dry_ = dry_ + dry[i_];
#endif
#ifndef WORD_FIRST
        lookMailbox;
#endif
        quiet_ = quiet_ && word[i_] == ASLEEP;
#ifdef WORD_FIRST
        lookMailbox;
#endif
        blocked_ = blocked_ + blocked[i_];
#ifndef DRY_FIRST
        dry_ = dry_ + dry[i_];
#endif
        i_++
    :: else -> break
    od;
    atomic { calls_ = calls; i_ = 0 }
}

bool still; /* between the visits nothing ran, and no mailbox had a message: the proof's own look */

#ifdef NO_DRY
#define sameDry true
#else
#define sameDry (dry_ == d1)
#endif

inline survey() {
    visit();
    atomic { q1 = quiet_; d1 = dry_; b1 = blocked_; n1 = queued_; c1 = calls_; still = running == 0 && mailbox[0] + mailbox[1] == 0 }
#ifndef ONE_VISIT
    if
    :: q1 ->
        visit();
        q1 = quiet_ && blocked_ == b1 && queued_ == n1 && calls_ == c1 && sameDry
    :: !q1
    fi;
#endif
    assert(!q1 || still);
    atomic { quiet_ = false; dry_ = 0; blocked_ = 0; queued_ = 0; bound_ = 0; calls_ = 0; still = false }
}

proctype closer() {
    bool q1, unbound;
    byte n1, c1;
    short d1, b1;
    short d0, b0;
    byte n0;
#ifndef LATE_LISTEN
    listening = true;
#endif
again:
    skip;
    d_step { /* step 1 */
        surveys = true;
        if
        :: isBound == 0 -> closing = true
        :: else
        fi;
        unbound = closing
    }
    survey(); /* step 2 */
#ifdef LATE_LISTEN
    listening = true;
#endif
    if
    :: unbound && q1 && b1 == 0 && n1 == 0 -> /* step 3 */
        d_step { d0 = d1; b0 = b1; n0 = n1 }
#ifndef OPEN_QUEUES
        closed = true;
        i_ = 0;
        do
        :: i_ < 2 ->
            d_step { boxClosed[i_] = mailbox[i_] == 0; i_++ }
        :: i_ == 2 -> break
        od;
#ifndef ONE_SURVEY
        survey();
#endif
        if
        :: boxClosed[0] && boxClosed[1] && q1 && d1 == d0 && b1 == b0 && n1 == n0 -> goto ended
        :: else
        fi;
        closed = false;
        i_ = 0;
        do
        :: i_ < 2 ->
            d_step { boxClosed[i_] = false; i_++ }
        :: i_ == 2 -> break
        od
#else
        goto ended
#endif
    :: q1 && c1 == 0 && b1 > 0 && n1 == 0 -> /* a deadlock; its limit has passed, and nothing has changed */
        assert(ready || !waits || NOTIFIER == 0);
        deadlock = true;
        goto returned
    :: else
    fi;
    atomic { surveys = false; dry[0] = 0; dry[1] = 0; unbound = false; q1 = false; b1 = 0; n1 = 0; d1 = 0; d0 = 0; b0 = 0; n0 = 0 }
endNews:
    if
    :: d_step { news -> news = false }
    :: c1 > 0 && calls == 0 /* it looks again after a time */
    fi;
    goto again;
ended:
    skip;
    atomic { surveys = false; dry[0] = 0; dry[1] = 0; q1 = false; b1 = 0; n1 = 0; d1 = 0; d0 = 0; b0 = 0; n0 = 0 }
    assert(running == 0 && tasks == 0 && !ready && !waits && mailbox[0] + mailbox[1] == 0 && blocked[0] + blocked[1] == 0);
    over = true;
    shutdown[0] = true;
    notify(0);
    shutdown[1] = true;
    notify(1);
    done[0] && done[1];
returned:
    closeReturned = true
}

init {
    atomic {
        tasks = 1;
        run worker(0); run worker(1);
#if NOTIFIER == 1
        run bound();
#elif NOTIFIER == 2
        run caller();
#endif
#ifdef ENQUEUE
        run enqueue();
#endif
        run closer()
    }
    timeout;
    assert(closeReturned && (deadlock || done[0] && done[1]))
}
