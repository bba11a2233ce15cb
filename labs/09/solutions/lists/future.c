/* One lock for all, and no deque of lab 8. The tasks of a worker are a list
 * with links in both directions. So a future that is got or given back leaves
 * it from the middle. Status and list change under the same lock. So no entry
 * outlives its future, and holders are not counted. */
#include <explore.h>

#include "forkjoin.h"

struct future {
    struct future *newer, *older; /* in the list of a worker, while it is NOT_STARTED */
    int worker;                   /* whose list */
    enum status status;
    struct waiter *waiter;
    task_function *function;
    void *argument;
    long result;
};

static explore_mutex lock;
static struct list {
    struct future *newest, *oldest;
    int count;
} lists[WORKERS];

/* Takes f out of its list. The caller has the lock. */
static void start(struct future *f) {
    struct list *l = &lists[f->worker];

    *(f->newer != NULL ? &f->newer->older : &l->newest) = f->older;
    *(f->older != NULL ? &f->older->newer : &l->oldest) = f->newer;
    l->count--;
    f->status = IN_PROGRESS;
}

static void run(int self, struct future *f) {
    long result = f->function(self, f->argument);

    explore_lock(&lock);
    f->result = result;
    f->status = COMPLETED;
    struct waiter *w = f->waiter;
    explore_unlock(&lock); /* from here on f may be gone */
    if (w != NULL) {
        pool_unpark(w);
    }
}

/* The caller has the lock, and f is not NOT_STARTED. */
static void wait_for(int self, struct future *f) {
    f->waiter = pool_self(self);
    while (f->status != COMPLETED) {
        explore_unlock(&lock);
        pool_park(self);
        explore_lock(&lock);
    }
}

struct future *future_fork(int self, task_function *function, void *argument) {
    struct future *f = memory_new(sizeof *f);
    struct list *l = &lists[self];

    *f = (struct future){.worker = self, .function = function, .argument = argument};
    explore_lock(&lock);
    bool room = l->count < CAPACITY;
    if (room) {
        f->older = l->newest;
        *(f->older != NULL ? &f->older->newer : &l->oldest) = f;
        l->newest = f;
        l->count++;
    }
    explore_unlock(&lock);
    if (room) {
        pool_notify(self);
    } else {
        run(self, f);
    }
    return f;
}

long future_get(int self, struct future *f) {
    explore_lock(&lock);
    if (f->status == NOT_STARTED) {
        start(f);
        explore_unlock(&lock); /* the task may fork, and wait */
        run(self, f);
        return f->result;
    }
    wait_for(self, f);
    explore_unlock(&lock);
    return f->result;
}

void future_drop(int self, struct future *f) {
    explore_lock(&lock);
    if (f->status == NOT_STARTED) {
        start(f);
    } else {
        wait_for(self, f);
    }
    explore_unlock(&lock);
    memory_free(f);
}

bool future_step(int self) {
    explore_lock(&lock);
    struct future *f = lists[self].newest;
    if (f == NULL) {
        f = lists[1 - self].oldest;
    }
    if (f != NULL) {
        start(f);
    }
    explore_unlock(&lock);
    if (f != NULL) {
        run(self, f);
    }
    return f != NULL;
}
