/* listen.pml: when a pool counts among those for which the thread beats (sched/forkjoin/linger.go).
 *
 * Each step here is one atomic operation.
 *
 *   here     code                                what
 *   listen   heartbeat.listen                    loads strands and active, and makes beating what they ask for
 *   strand   enter, pulse, leave, deactivate     changes a count, and then calls listen
 *
 * Three strands, for two workers, begin, see a beat that no worker needs, and end or compute for ever.
 *
 * What must hold, when nothing can move any more: the pool counts once or not at all, and it counts when, and only when, a strand is at work and
 * another worker has nothing to do.
 *
 * Planted faults:
 *   NO_AGAIN      listen does not look again after it has changed beating
 *   LISTEN_FIRST  a strand that ends calls listen before it counts down, and not after
 *   BEAT_STORE    beating is stored, in the place of the compare-and-swap
 */

#define LIMIT 2

int strands, at_work, busy;
bool beating;
byte over;

inline listen() {
    do
    ::  s = strands;
        if
        :: s > 0 -> a = at_work; need = (a < LIMIT)
        :: else -> need = false
        fi;
        b = beating;
        if
        :: b == need -> break
        :: else
        fi;
#ifdef BEAT_STORE
        beating = need;
        swapped = true;
#else
        atomic { swapped = (beating != need); beating = need }
#endif
        if
        :: swapped && need -> busy++
        :: swapped && !need -> busy--
        :: else
        fi;
#ifdef NO_AGAIN
        if
        :: swapped -> break
        :: else
        fi
#endif
    od
}

active [3] proctype strand() {
    int s, a;
    bool need, b, swapped;

    strands++;
    listen();
    at_work++;
    listen(); /* at the next beat */
    if
    ::  strands--;
        listen();
#ifdef LISTEN_FIRST
        listen();
        at_work--
#else
        at_work--;
        listen()
#endif
    :: true
    fi;
    over++
}

active proctype check() {
    over == 3;
    assert(busy == beating);
    assert(beating == (strands > 0 && at_work < LIMIT))
}
