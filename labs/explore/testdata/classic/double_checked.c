/* Double-checked locking: a lock is taken only until a thing has been made.
 *
 * From D. Bacon and others, "The 'Double-Checked Locking is Broken' Declaration" (2000), and S.
 * Meyers and A. Alexandrescu, "C++ and the Perils of Double-Checked Locking", Dr. Dobb's Journal
 * 2004. With -DRELAXED the pointer may be seen before what it points to. With -DPLAIN it is not
 * even atomic. With -DNO_SECOND_CHECK it is made twice. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef RELAXED
#define STORE memory_order_relaxed
#define LOAD memory_order_relaxed
#else
#define STORE memory_order_release
#define LOAD memory_order_acquire
#endif

struct thing {
    int value;
};

#ifdef PLAIN
static struct thing *only;
#define set(thing) (only = (thing))
#define get() only
#else
static struct thing *_Atomic only;
#define set(thing) atomic_store_explicit(&only, thing, STORE)
#define get() atomic_load_explicit(&only, LOAD)
#endif

static explore_mutex lock;
static int made;

static struct thing *instance(void) {
    struct thing *t = get();

    if (t == NULL) {
        explore_lock(&lock);
#ifndef NO_SECOND_CHECK
        t = get();
#endif
        if (t == NULL) {
            t = malloc(sizeof *t);
            t->value = 42;
            made++;
            set(t);
        }
        explore_unlock(&lock);
    }
    return t;
}

static void user(void *unused) {
    (void)unused;
    explore_check(instance()->value == 42, "a thing that is seen is complete");
}

void explore_test(void) {
    int other = explore_start(user, NULL);

    user(NULL);
    explore_join(other);
    explore_check(made == 1, "the thing is made once");
}
