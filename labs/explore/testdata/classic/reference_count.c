/* A reference count: who drops the last reference frees the object.
 *
 * From H. Sutter, "atomic<> Weapons", C++ and Beyond 2012, and the documentation of Boost.Atomic,
 * "Reference counting". With -DRELAXED_DROP the object may be freed while another thread's use of
 * it is not over. With -DTORN_DROP the count is loaded and stored, and both threads or none free.
 */
#include <explore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef RELAXED_DROP
#define DROP memory_order_relaxed
#else
#define DROP memory_order_acq_rel
#endif

struct object {
    atomic_int references;
    int used[2]; /* by each thread */
};

static atomic_int freed;

static void drop(struct object *o) {
#ifdef TORN_DROP
    int before = atomic_load(&o->references);
    atomic_store(&o->references, before - 1);
#else
    int before = atomic_fetch_sub_explicit(&o->references, 1, DROP);
#endif
    if (before == 1) {
        free(o);
        atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
    }
}

static void user(void *object) {
    struct object *o = object;

    o->used[1]++;
    drop(o);
}

void explore_test(void) {
    struct object *o = malloc(sizeof *o);

    atomic_init(&o->references, 2);
    o->used[0] = o->used[1] = 0;
    int thread = explore_start(user, o);
    o->used[0]++;
    drop(o);
    explore_join(thread);
    explore_check(atomic_load_explicit(&freed, memory_order_relaxed) == 1,
                  "the object is freed once");
}
