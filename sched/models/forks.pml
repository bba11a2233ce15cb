/* forks.pml: the list of forks of one strand, from which a thief takes the oldest without a fence in
 * the strand (sched/forkjoin/forks.go).
 *
 * Each step here is one load, one store or one atomic operation. What the strand stores goes through a store buffer,
 * in order, as on amd64. An atomic operation and the barrier of the thief empty it.
 *
 *   here     Go                                   what
 *   push     Strand.Fork, forks.push              stores the slot, then top
 *   pop      Strand.Join, listEnds.pop, remove    stores top, then loads taken: if a thief may have the fork, looks under the lock
 *   thief    strand.take, takeOldest              under the lock: stores taken, executes the barrier, loads top: takes the fork, or takes taken back
 *
 * The strand makes ITEMS forks, as many at a time as it likes, and pops all of them. Two thieves try TRIES times each.
 *
 * What must hold: each fork runs once.
 *
 * Planted faults:
 *   NO_BARRIER    the thief goes on without it
 *   LOAD_FIRST    pop loads taken before it stores top
 *   LOOK_FIRST    the thief loads top before it stores taken, and not after
 *   NO_BACK       the thief leaves taken as it is when the strand was quicker
 *   NO_LOCK       pop does not wait for the thief before it believes taken
 */

#ifndef ITEMS
#define ITEMS 4
#endif
#ifndef TRIES
#define TRIES 2
#endif
#define SLOTS 2

mtype = { slot, end };

chan buffer = [4] of { mtype, byte, byte }; /* what, index, value */
byte slots[SLOTS], top, taken;              /* in memory */
bool locked;
byte ran[ITEMS + 1];

inline store(what, index, value) {
    atomic { nfull(buffer) -> buffer!what, index, value }
}

inline land(what, index, value) {
    if
    :: what == slot -> slots[index] = value
    :: what == end -> top = value
    fi
}

inline drain() {
    d_step {
        do
        :: nempty(buffer) -> buffer?what, index, value; land(what, index, value)
        :: empty(buffer) -> break
        od;
        what = 0; index = 0; value = 0
    }
}

inline lock() {
    atomic { !locked -> locked = true }
}

inline unlock() { locked = false }

proctype strand() {
    byte own[SLOTS], made, n, t;
    mtype what;
    byte index, value;

    do
    :: made < ITEMS && n < SLOTS ->
        made++;
        own[n] = made;
        store(slot, n, made);
        n++;
        store(end, 0, n)
    :: n > 0 ->
        n--;
#ifdef LOAD_FIRST
        t = taken;
        store(end, 0, n);
#else
        store(end, 0, n);
        t = taken;
#endif
        if
        :: t > n ->
#ifndef NO_LOCK
            lock();
            drain();
            t = taken;
#endif
            if
            :: t > n -> taken = n /* it runs elsewhere */
            :: else -> ran[own[n]]++
            fi;
#ifndef NO_LOCK
            unlock()
#endif
        :: else -> ran[own[n]]++
        fi;
        own[n] = 0
    :: made == ITEMS && n == 0 -> break
    od;
    t = 0
}

proctype thief() {
    byte tries, t;
    bool mine;
    mtype what;
    byte index, value;

    do
    :: tries < TRIES ->
        tries++;
        lock();
        t = taken;
        if
        :: t < top ->
#ifdef LOOK_FIRST
            mine = t < top;
            taken = t + 1;
            drain();
#else
            taken = t + 1;
#ifndef NO_BARRIER
            drain();
#endif
            mine = t < top;
#endif
            if
            :: mine -> ran[slots[t]]++
            :: else ->
#ifndef NO_BACK
                taken = t
#endif
            fi
        :: else
        fi;
        unlock();
        mine = false
    :: true -> break
    od
}

proctype storeBuffer() {
    mtype what;
    byte index, value;
endDrained:
    do
    :: d_step { buffer?what, index, value -> land(what, index, value); what = 0; index = 0; value = 0 }
    od
}

init {
    byte i;

    atomic { run strand(); run thief(); run thief(); run storeBuffer() }
    timeout;
    for (i : 1 .. ITEMS) {
        assert(ran[i] == 1)
    }
}
