/* Two workers, one queue. A task forks a child: it puts it into the queue, and waits for its end.
 * Each access is under the lock, and each wait has its wake-up. */
#include <explore.h>

struct future {
    void (*task)(void);
    bool completed;
    int waiter; /* the thread that waits for the end */
};

static explore_mutex lock;
static struct future *queue[4];
static int first, end;

static void submit(struct future *f) {
    explore_lock(&lock);
    queue[end++] = f;
    explore_unlock(&lock);
}

static void get(struct future *f) {
    explore_lock(&lock);
    f->waiter = explore_self();
    while (!f->completed) {
        explore_unlock(&lock);
        explore_park();
        explore_lock(&lock);
    }
    explore_unlock(&lock);
}

static void child(void) {}

static void parent(void) {
    static struct future children[2];
    struct future *f = &children[explore_self()];

    f->task = child;
    submit(f);
    get(f);
}

/* A worker runs tasks until the queue is empty. */
static void worker(void *unused) {
    (void)unused;
    explore_lock(&lock);
    while (first < end) {
        struct future *f = queue[first++];
        explore_unlock(&lock);
        f->task();
        explore_lock(&lock);
        f->completed = true;
        explore_unpark(f->waiter);
    }
    explore_unlock(&lock);
}

void explore_test(void) {
    static struct future parents[] = {{.task = parent}, {.task = parent}};

    submit(&parents[0]);
    submit(&parents[1]);
    int other = explore_start(worker, 0);
    worker(0);
    explore_join(other);
}
