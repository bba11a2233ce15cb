/* The memory model: RC11, the repaired C11, of which load buffering is no part. So each execution
 * is built by steps that read only what was stored before.
 *
 * **Coherence.** An object has its stores in modification order. A thread has *seen* a store if it,
 * or a step that happened before its next one, wrote or read that store. A load may return the
 * newest store that its thread has seen, or any newer one. A store has, for each thread, the time
 * of the step that saw it first. A thread has seen it if its clock has reached one of these times.
 *
 * **Happens-before.** A store with release carries the view of its thread; a load with acquire
 * takes it over. A release fence sets the view that later relaxed stores carry, an acquire fence
 * takes over what earlier relaxed loads found. Release sequences are as in C11: a store carries
 * what earlier stores of its thread to the object carry (thread_view). A read-modify-write carries
 * also what the store before it carries.
 *
 * **seq_cst.** The order of the seq_cst events is the order in which they are executed.
 * Fence before fence: what a thread had seen at a fence, others have seen after their next fence.
 * Store before fence: after a fence, seq_cst stores that were executed before it are seen; the
 * lane SC_LANE counts them. Access after store: a seq_cst access has seen the earlier seq_cst
 * stores of the object. Access after fence: it has seen what happened before a fence. This forbids
 * a little more than RC11 does: executions whose seq_cst order contradicts happens-before, which
 * need a mixture of seq_cst and weaker accesses to one object.
 *
 * **Old values that are worth a schedule.** A load may return an old value although newer stores
 * were executed. If these stores did not lead to the load, it can also be done before them, with
 * the same result. `cause` is the clock of what led to a step: program order, reads-from and the
 * seq_cst order; for a store also the earlier stores and reads of its object. The reduced search
 * lets a load return an old value only if all newer stores led to it, or to the store that it
 * reads. The reason: of the executions with one result, take one with the fewest pairs of a store
 * and a later load that overlooks it. Assume that such a store did not lead to its load. Then the
 * load, and all that led to it, can be moved before the store. That leaves the other pairs as they
 * are, so there is an execution with fewer pairs: a contradiction. The same holds for stores that
 * go to an earlier place in modification order, as in 2+2W. These are left out in all modes of the
 * search. */
#include "engine.h"

/* Reports whether all stores behind the i-th are part of a cause. */
static bool newer_caused(const struct place *p, unsigned i, vclock cause) {
    for (unsigned k = p->stores - 1u; k > i; k--)
        if (cause[p->store[k].thread] < p->store[k].time)
            return false;
    return true;
}

/* Reports whether a store right behind the i-th has to be considered. It has if the newer ones led
 * to it, to one that comes before it, or to a load that reads one of these. */
static bool may_follow(const struct thread *t, const struct place *p, unsigned i) {
    if (i + 1u == p->stores)
        return true;
    if (p->store[i + 1].rmw)
        return false;

    vclock cause = t->cause;

    for (unsigned k = 0; k <= i; k++)
        cause = later(cause, later(p->store[k].cause, p->store[k].readers));
    return newer_caused(p, i, cause);
}

/* The index of the newest store that t has seen. */
static unsigned newest_seen(const struct thread *t, const struct place *p, bool sc) {
    vclock seen = t->view.co;
    unsigned i = p->stores - 1u;

    if (sc)
        seen = with_lane(seen, SC_LANE, engine->sc_stores);
    for (; i > 0; i--) {
        const struct store *s = &p->store[i];

        if (any((vclock)(seen >= s->seen)))
            break;
        if (sc && s->time <= engine->sc_hb[s->thread])
            break;
    }
    return i;
}

static void sc_access(struct thread *t, int order) {
    if (order != SEQ_CST)
        return;
    t->cause = later(t->cause, engine->sc_fences_cause);
    engine->sc_cause = later(engine->sc_cause, t->cause);
}

/* What thread t learns from reading store s. */
static void read_from(struct thread *t, struct place *p, struct store *s, int order) {
    p->atomic_read = later(p->atomic_read, own_time(t));
    see(t, s);
    view_join(acquires(order) ? &t->view : &t->acquired, &s->view);
    t->cause = later(t->cause, s->cause);
    s->readers = later(s->readers, t->cause);
    p->cause = later(p->cause, t->cause);
}

/* Puts a store behind the first `at` stores; rmw: it reads the one before it. */
static inline void write_at(struct thread *t, struct place *p, unsigned at, uint64_t value,
                            int order, bool rmw) {
    struct store *s = place_insert(p, at);

    t->cause = p->cause = later(t->cause, p->cause);
    s->value = value;
    s->step = (int32_t)engine->steps - 1;
    s->time = t->time;
    s->thread = t->number;
    s->rmw = rmw;
    s->thread_view = releases(order) ? t->view : t->released;
    for (unsigned k = at; k-- > 0;)
        if (p->store[k].thread == t->number) {
            view_join(&s->thread_view, &p->store[k].thread_view);
            break;
        }
    s->view = s->thread_view;
    if (rmw)
        view_join(&s->view, &p->store[at - 1].view);
    s->cause = t->cause;
    s->readers = (vclock){0};
    s->seen = seen_now(t);
    if (order == SEQ_CST)
        s->seen = with_lane(s->seen, SC_LANE, ++engine->sc_stores);
    p->atomic_write = later(p->atomic_write, own_time(t));
    if (at + 1u == p->stores)
        memory_write(p->address, p->size, value);
    else
        report_note("goes before newer stores in modification order");
}

PART struct thread *visible(uintptr_t address, size_t size, enum operation operation, bool writes,
                            int order, uintptr_t pc) {
    struct thread *t = engine->current;

    heap_check(address, size, writes, pc);

    struct event *e = thread_next(t, operation);

    e->address = address;
    e->writes = writes;
    e->sc = order == SEQ_CST;
    threads_visible(pc);
    heap_check(address, size, writes, pc); /* others may have freed it since */
    thread_tick(t);
    sc_access(t, order);
    return t;
}

/* Chooses the store behind which a new one goes: mostly the newest. */
static inline unsigned following(const struct thread *t, const struct place *p, unsigned seen) {
    unsigned newest = p->stores - 1u, n = 1;
    uint16_t back[OPTIONS_MAX] = {0};

    for (unsigned i = newest; i > seen; i--) {
        if (!may_follow(t, p, i - 1))
            continue;
        if (n == OPTIONS_MAX) {
            engine->search->options_hit = true;
            break;
        }
        back[n++] = (uint16_t)(newest - i + 1);
    }
    return newest - (n > 1 ? back[search_value(n, (uint32_t)((1ull << n) - 1))] : 0);
}

uint64_t model_load(uintptr_t address, size_t size, int order, uintptr_t pc) {
    if (!engine->current)
        return memory_read(address, size);
    thread_before_read(engine->current, pc, address);

    struct thread *t = visible(address, size, OP_LOAD, false, order, pc);

    report_step(t, OP_LOAD, order, pc, address, size);

    struct place *p = place_atomic(t, address, size, false);
    unsigned newest = p->stores - 1u, i = newest;

    if (newest) {
        unsigned n = newest - newest_seen(t, p, order == SEQ_CST) + 1;

        if (n > 1) {
            uint32_t needed = 1;

            if (n > OPTIONS_MAX) {
                n = OPTIONS_MAX;
                engine->search->options_hit = true;
            }
            for (unsigned k = 1; k < n; k++)
                if (newer_caused(p, newest - k, later(t->cause, p->store[newest - k].cause)))
                    needed |= 1u << k;
            i = newest - search_value(n, needed);
        }
    }

    struct store *s = &p->store[i];

    report_value(s->value, s->step, i != newest);
    thread_after_read(t, p, pc, s->value);
    read_from(t, p, s, order);
    return s->value;
}

void model_store(uintptr_t address, size_t size, uint64_t value, int order, uintptr_t pc) {
    if (!engine->current) {
        memory_write(address, size, value);
        return;
    }

    struct thread *t = visible(address, size, OP_STORE, true, order, pc);

    report_step(t, OP_STORE, order, pc, address, size);
    report_stored(value);

    struct place *p = place_atomic(t, address, size, true);
    unsigned i = following(t, p, newest_seen(t, p, order == SEQ_CST));

    write_at(t, p, i + 1, value, order, false);
    thread_changed(t);
}

static uint64_t computed(enum rmw rmw, uint64_t old, uint64_t operand) {
    switch (rmw) {
    case RMW_EXCHANGE:
        return operand;
    case RMW_ADD:
        return old + operand;
    case RMW_SUB:
        return old - operand;
    case RMW_AND:
        return old & operand;
    case RMW_OR:
        return old | operand;
    case RMW_XOR:
        return old ^ operand;
    default:
        return ~(old & operand);
    }
}

static uint64_t truncated(uint64_t value, size_t size) {
    return size == 8 ? value : value & ((1ull << 8 * size) - 1);
}

/* A read-modify-write of the i-th store. */
static uint64_t read_and_write(struct thread *t, struct place *p, unsigned i, uint64_t stored,
                               int order, uintptr_t pc) {
    uint64_t old = p->store[i].value;

    report_value(old, p->store[i].step, false);
    report_stored(stored);
    read_from(t, p, &p->store[i], order);
    write_at(t, p, i + 1, stored, order, true);
    if (stored == old)
        thread_after_read(t, p, pc, old); /* a spin with exchange changes nothing */
    else
        thread_changed(t);
    return old;
}

uint64_t model_rmw(uintptr_t address, size_t size, enum rmw rmw, uint64_t operand, int order,
                   uintptr_t pc) {
    if (!engine->current) {
        uint64_t old = memory_read(address, size);

        memory_write(address, size, computed(rmw, old, operand));
        return old;
    }
    thread_before_read(engine->current, pc, address);

    struct thread *t = visible(address, size, OP_RMW, true, order, pc);

    report_step(t, OP_RMW, order, pc, address, size);

    struct place *p = place_atomic(t, address, size, true);
    unsigned i = following(t, p, newest_seen(t, p, order == SEQ_CST));

    return read_and_write(t, p, i, truncated(computed(rmw, p->store[i].value, operand), size),
                          order, pc);
}

uint64_t model_cas(uintptr_t address, size_t size, uint64_t expected, uint64_t desired, bool weak,
                   int order, int failure, uintptr_t pc, bool *done) {
    if (!engine->current) {
        uint64_t old = memory_read(address, size);

        *done = old == expected;
        if (*done)
            memory_write(address, size, desired);
        return old;
    }
    thread_before_read(engine->current, pc, address);

    struct thread *t = visible(address, size, OP_CAS, true, order > failure ? order : failure, pc);

    report_step(t, OP_CAS, order, pc, address, size);

    struct place *p = place_atomic(t, address, size, true);
    unsigned newest = p->stores - 1u, n = 0;
    unsigned seen = newest_seen(t, p, order == SEQ_CST);
    unsigned seen_failing = newest_seen(t, p, failure == SEQ_CST);
    uint32_t needed = 0;
    uint16_t back[OPTIONS_MAX];

    for (unsigned i = newest;; i--) {
        bool equal = p->store[i].value == expected;

        if (n == OPTIONS_MAX - 1) {
            engine->search->options_hit = true;
            break;
        }
        if (equal ? i >= seen && may_follow(t, p, i) : i >= seen_failing) {
            if (equal || newer_caused(p, i, later(t->cause, p->store[i].cause)))
                needed |= 1u << n;
            back[n++] = (uint16_t)(newest - i);
        }
        if (i == 0 || (i <= seen && i <= seen_failing))
            break;
    }

    bool may_fail = weak && !t->spurious_fail && p->store[newest].value == expected;

    if (may_fail) {
        needed |= 1u << n;
        back[n++] = 0;
    }

    unsigned chosen = n > 1 ? search_value(n, needed) : 0;
    unsigned i = newest - back[chosen];
    bool fails = may_fail && chosen == n - 1;

    *done = p->store[i].value == expected && !fails;
    if (*done)
        return read_and_write(t, p, i, desired, order, pc);
    if (fails) {
        t->spurious_fail = true;
        report_note("a weak compare-exchange may fail without a reason");
    }

    uint64_t value = p->store[i].value;

    report_value(value, p->store[i].step, i != newest);
    thread_after_read(t, p, pc, value);
    read_from(t, p, &p->store[i], failure);
    return value;
}

void model_fence(int order, uintptr_t pc) {
    if (!engine->current)
        return;

    struct thread *t = engine->current;

    if (order == SEQ_CST) { /* others concern their thread alone */
        thread_next(t, OP_FENCE)->sc = true;
        threads_visible(pc);
    }
    thread_tick(t); /* plain accesses that come before it are noted for this time */
    report_step(t, OP_FENCE, order, pc, 0, 0);
    if (acquires(order))
        view_join(&t->view, &t->acquired);
    if (order == SEQ_CST) {
        t->view.co = with_lane(t->view.co, SC_LANE, engine->sc_stores);
        t->view.co = engine->sc_view = later(engine->sc_view, t->view.co);
        engine->sc_hb = later(engine->sc_hb, t->view.hb);
        t->cause = later(t->cause, engine->sc_cause);
        engine->sc_cause = engine->sc_fences_cause = t->cause;
    }
    if (releases(order))
        t->released = t->view;
}
