/* deque.pml: the work-stealing deque: one owner, two thieves, a store buffer, and an array that grows
 * (sched/forkjoin/deque.go), and how jobs in it are claimed (form_deque.go).
 *
 * Each step here is one atomic operation of the Go code, or one store that may wait in the owner's store buffer. The buffer
 * is first in, first out, and the owner's atomic read-modify-write operations wait until it is empty, as on amd64. On arm64
 * each of these stores is a release, which permits no more.
 *
 *   here          Go                    what
 *   put           release.Store         a store of the owner, by way of the buffer
 *   drain         atomic Store          waits until the buffer is empty
 *   push, grow    deque.push, grow      slot, then bottom; a full array is replaced by a copy of twice the size
 *   pop           deque.pop, popLast    bottom, top again; the last item by compare-and-swap of top
 *   thief         deque.steal           top, bottom, array, slot, compare-and-swap of top; clears the slot
 *   takeBack      deques.takeBack       CLAIM: the owner wants one item, whichever lies at the bottom
 *   getter        Future.Get            CLAIM: another strand wants one item, wherever it lies
 *
 * The owner pushes ITEMS items and pops in any order between, and pops until there is nothing in the end.
 *
 * What must hold: each item is run once, and none stays in a slot of the array.
 *
 * Planted faults:
 *   NO_FENCE      pop's store of bottom may wait in the buffer while top is loaded
 *   NO_RELOAD     pop trusts the top that it has loaded before its store of bottom
 *   LAST_STORE    pop takes the last item without comparing
 *   STEAL_STORE   steal increments top without comparing
 *   STEAL_ORDER   steal loads bottom before top
 *   EARLY_BOTTOM  push stores bottom before the slot
 *   LATE_ITEM     steal loads the slot after it has incremented top
 *   CLEAR_STORE   steal clears the slot without comparing
 *   ONE_ARRAY     steal clears the slot in the array that it has seen alone
 *   NO_LAST_LOOK  grow does not clear what was stolen while it copied
 *   NO_CLAIM      CLAIM: a thief does not claim what it has stolen
 */

#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef FIRST
#define FIRST 2 /* slots of the first array */
#endif

#define SLOT(a, i) slots[4 * (a) + (i) % sizes[a]]

#define TO_BOTTOM 0
#define TO_SLOT   1 /* and where in slots */

byte top, bottom, array;
byte slots[12]; /* of three arrays: 0 is none */
byte sizes[3];
byte runs[ITEMS + 1];
bool claimed[ITEMS + 1];
bool ended; /* the owner has found the deque empty in the end */
chan buffer = [4] of { byte, byte };

inline put(where, what) { buffer!where, what }
inline drain() { empty(buffer) }

inline run_(x) {
    runs[x]++;
    assert(runs[x] == 1)
}

/* take runs x, unless it has been claimed. */
inline take(x) {
    d_step {
        assert(x);
#ifdef CLAIM
        if
        :: !claimed[x] -> claimed[x] = true; run_(x)
        :: else
        fi
#else
        run_(x)
#endif
    }
}

proctype storeBuffer() {
    byte where, what;

end:
    do
    :: atomic {
            buffer?where, what ->
            if
            :: where == TO_BOTTOM -> bottom = what
            :: else -> slots[where - TO_SLOT] = what
            fi;
            where = 0; what = 0
        }
    od
}

/* The owner. b is its bottom; t a top that it has loaded; x an item. */

inline grow() {
    drain();
    i = t;
    do
    :: i < b -> SLOT(own + 1, i) = SLOT(own, i); i++ /* each slot is atomic to threads that clear it */
    :: else -> break
    od;
    own++;
    array = own;
#ifndef NO_LAST_LOOK
    i = top;
    d_step {
        do
        :: t < i -> SLOT(own, t) = 0; t++
        :: else -> break
        od
    }
#endif
    i = 0
}

inline push(what) {
    t = top;
    if
    :: b - t >= sizes[own] -> grow()
    :: else
    fi;
    atomic {
#ifdef EARLY_BOTTOM
        put(TO_BOTTOM, b + 1);
        put(TO_SLOT + 4 * own + b % sizes[own], what);
#else
        put(TO_SLOT + 4 * own + b % sizes[own], what);
        put(TO_BOTTOM, b + 1);
#endif
        b++; t = 0
    }
}

inline clear() {
    atomic {
        drain(); /* loads what has been stored */
        x = SLOT(own, b);
        put(TO_SLOT + 4 * own + b % sizes[own], 0)
    }
}

inline popLast() {
    atomic {
        drain();
        if
#ifdef LAST_STORE
        :: true -> top = b + 1; won = true
#else
        :: top == b -> top = b + 1; won = true
        :: else
#endif
        fi
    }
    if
    :: won -> clear(); won = false
    :: else
    fi
}

/* pop makes x the newest item, or 0. */
inline pop() {
    t = top;
    if
    :: t == b
    :: t + 1 == b -> b--; popLast(); b++
    :: else ->
#ifdef NO_FENCE
        atomic { b--; put(TO_BOTTOM, b) }
#else
        atomic { drain(); b--; bottom = b }
#endif
#ifndef NO_RELOAD
        t = top;
#endif
        if
        :: t < b -> clear()
        :: else ->
            if
            :: t == b -> popLast()
            :: else
            fi;
            atomic { b++; put(TO_BOTTOM, b) }
        fi
    fi;
    t = 0
}

proctype owner() {
    byte b, t, i, x, own, pushed;
    bool won, back;

    do
    :: pushed < ITEMS -> pushed++; push(pushed)
    :: pushed > 0 ->
        pop();
        atomic {
            if
            :: x -> take(x); x = 0
            :: !x && pushed == ITEMS -> break
            :: else
            fi
        }
#ifdef CLAIM
    :: pushed > 1 && !back -> /* takeBack of the last but one, once */
        back = true;
        pop();
        if
        :: x == pushed - 1
        :: x && x != pushed - 1 -> push(x)
        :: else
        fi;
        take(pushed - 1);
        x = 0
#endif
    od;
    drain();
    ended = true
}

proctype thief() {
    byte t, b, a, x;
    bool won;

    do
    :: ended -> break
    :: true ->
#ifdef STEAL_ORDER
        b = bottom;
        t = top;
#else
        t = top;
        b = bottom;
#endif
        if
        :: b <= t -> goto next
        :: else
        fi;
        a = array;
#ifndef LATE_ITEM
        x = SLOT(a, t);
#endif
        atomic {
            if
#ifdef STEAL_STORE
            :: true -> skip
#else
            :: top != t -> goto next
            :: else -> top = t + 1
#endif
            fi
        }
#ifdef STEAL_STORE
        top = t + 1;
#endif
#ifdef LATE_ITEM
        x = SLOT(a, t);
#endif
        assert(x);
#ifdef CLEAR_STORE
        SLOT(a, t) = 0;
#else
        d_step {
            if
            :: SLOT(a, t) == x -> SLOT(a, t) = 0
            :: else
            fi
        }
#endif
#ifndef ONE_ARRAY
        b = array;
        d_step {
            if
            :: b != a && SLOT(b, t) == x -> SLOT(b, t) = 0
            :: else
            fi
        }
#endif
#ifdef NO_CLAIM
        d_step { claimed[x] = true; run_(x) }
#else
        take(x)
#endif
next:
        atomic { t = 0; b = 0; a = 0; x = 0 }
    od
}

#ifdef CLAIM
proctype getter() {
    if
    :: take(1)
    :: take(2)
    fi
}
#endif

init {
    atomic {
        sizes[0] = FIRST; sizes[1] = 2 * FIRST; sizes[2] = 4 * FIRST;
        run storeBuffer(); run owner(); run thief();
#ifdef CLAIM
        run getter();
#else
        run thief();
#endif
    }
    timeout;
    assert(ended && empty(buffer));
    byte i;
    for (i : 1 .. ITEMS) { assert(runs[i] == 1) }
    for (i : 0 .. sizes[array] - 1) { assert(slots[4 * array + i] == 0) }
}
