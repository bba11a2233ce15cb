/* Mutexes, and parking with one token a thread. */
#include "engine.h"

#define PC ((uintptr_t)__builtin_return_address(0))

static struct place *mutex_place(explore_mutex *mutex, uintptr_t pc) {
    heap_check((uintptr_t)mutex, sizeof *mutex, true, pc);
    return place_of((uintptr_t)mutex, sizeof *mutex);
}

static struct thread *mutex_step(struct place *p, enum operation operation, uintptr_t pc) {
    struct thread *t = engine->current;
    struct event *e = thread_next(t, operation);

    e->address = p->address;
    e->mutex = p;
    e->writes = true;
    threads_visible(pc);
    heap_check(p->address, p->size, true, pc); /* others may have freed it since */
    thread_tick(t);
    t->cause = p->cause = later(t->cause, p->cause);
    report_step(t, operation, NO_ORDER, pc, p->address, p->size);
    place_atomic(t, p->address, p->size, true);
    p->atomic_write = later(p->atomic_write, own_time(t));
    return t;
}

static void take(struct thread *t, struct place *p) {
    p->owner = t->number + 1;
    view_join(&t->view, &p->view);
    thread_changed(t);
}

void explore_lock(explore_mutex *mutex) {
    struct place *p = mutex_place(mutex, PC);

    take(mutex_step(p, OP_LOCK, PC), p);
}

bool explore_trylock(explore_mutex *mutex) {
    struct place *p = mutex_place(mutex, PC);

    thread_before_read(engine->current, PC, p->address);

    struct thread *t = mutex_step(p, OP_TRYLOCK, PC);
    bool taken = !p->owner;

    report_value(taken, -2, false);
    if (taken)
        take(t, p);
    else
        thread_after_read(t, p, PC, p->owner);
    return taken;
}

void explore_unlock(explore_mutex *mutex) {
    struct place *p = mutex_place(mutex, PC);
    struct thread *t = mutex_step(p, OP_UNLOCK, PC);

    if (p->owner != t->number + 1)
        report_fault(FAULT_CHECK, "a mutex is unlocked by the thread that holds it",
                     "Thread %u unlocks a mutex that %s holds.", t->number,
                     p->owner ? "another thread" : "no thread");
    p->owner = 0;
    p->view = t->view;
    thread_changed(t);
}

static bool park(bool deadline, uintptr_t pc) {
    struct thread *t = engine->current;
    struct event *e = thread_next(t, OP_PARK);

    e->address = (uintptr_t)t;
    e->writes = true;
    e->deadline = deadline;
    threads_visible(pc);
    thread_tick(t);
    report_step(t, OP_PARK, NO_ORDER, pc, 0, 0);
    t->cause = t->token_cause = later(t->cause, t->token_cause);
    if (t->token) {
        t->token = false;
        view_join(&t->view, &t->given);
        report_note("takes its token");
        return true;
    }
    engine->woke = true;
    if (deadline && (t->spurious_wake || search_value(2, 3) == 0)) {
        report_note("the deadline fires");
        return false;
    }
    t->spurious_wake = true;
    report_note("wakes without a token");
    return true;
}

void explore_park(void) {
    park(false, PC);
}

bool explore_park_until(void) {
    return park(true, PC);
}

void explore_unpark(int thread) {
    if (thread < 0 || thread >= (int)engine->threads)
        report_fault(FAULT_CHECK, "", "explore_unpark(%d): there is no such thread.", thread);

    struct thread *t = engine->current, *other = &engine->thread[thread];
    struct event *e = thread_next(t, OP_UNPARK);

    e->address = (uintptr_t)other;
    e->writes = true;
    threads_visible(PC);
    thread_tick(t);
    t->cause = other->token_cause = later(t->cause, other->token_cause);
    report_step(t, OP_UNPARK, NO_ORDER, PC, 0, 0);
    report_stored((uint64_t)thread);
    if (other->token)
        report_note("it has its token already");
    other->token = true;
    view_join(&other->given, &t->view);
    thread_changed(t);
}
