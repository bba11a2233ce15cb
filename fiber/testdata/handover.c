/* A thread hands a P from one of two fibers to the other and back by handover.c, as switches do,
 * while others take it as the runtime does. The M, the P and the goroutines are words of this
 * program. A taker checks that the three name one another and nothing else does.
 *
 *     handover SECONDS
 *
 * Prints the first fault and exits with 1. Exits with 2 if the P was never moved or never taken. */
#include "../handover.c"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TAKERS = 2, P_OF_M = 5, M_OF_P = 6, M_OF_G = 7, STATUS = 20 };

/* An M ends with what the runtime calls curg. */
struct m {
    uintptr_t words[FIBERLAB_SEARCHED_M];
    struct g *curg;
};
struct g {
    uintptr_t words[FIBERLAB_SEARCHED_G];
};
static struct p { uintptr_t words[FIBERLAB_SEARCHED_P]; } the_p;
static struct m ms[2];
static struct g gs[2];
static fiberlab_fiber fibers[2];
static uint32_t p_is_idle, done, faults;
static uint64_t moved, taken; /* taken by one at a time */

/* handover.c needs it for its search, which is tried elsewhere. */
uintptr_t *fiberlab_p(void) {
    return NULL;
}

static uint32_t *status_of(struct g *g) {
    return (uint32_t *)g->words + STATUS;
}

static void fault(const char *what) {
    if (!__atomic_exchange_n(&faults, 1, __ATOMIC_SEQ_CST))
        puts(what);
}

/* Claims the goroutine that has the P in C, as setBlockOnExitSyscall does. */
static struct m *claim_p(void) {
    struct m *m = (struct m *)__atomic_load_n(&the_p.words[M_OF_P], __ATOMIC_RELAXED);
    if (!m)
        return NULL;
    uint32_t in_c = GO_IN_C;
    if (!__atomic_compare_exchange_n(status_of(m->curg), &in_c, GO_IN_C | GO_SCAN, 0,
                                     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return NULL;
    if (__atomic_load_n(&m->words[P_OF_M], __ATOMIC_RELAXED) != (uintptr_t)&the_p) {
        __atomic_store_n(status_of(m->curg), GO_IN_C, __ATOMIC_RELEASE);
        return NULL;
    }
    return m;
}

static void *take(void *unused) {
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        struct m *m = claim_p();
        if (!m)
            continue;
        if (the_p.words[M_OF_P] != (uintptr_t)m)
            fault("a P names another M than the one that names it");
        the_p.words[M_OF_P] = 0;
        m->words[P_OF_M] = 0;
        __atomic_store_n(&taken, taken + 1, __ATOMIC_RELAXED);
        __atomic_store_n(status_of(m->curg), GO_IN_C, __ATOMIC_RELEASE);
        for (int i = 0; i < 100; i++)
            if (__atomic_load_n(&the_p.words[M_OF_P], __ATOMIC_RELAXED))
                fault("an M was given a P that another thread has taken");
        __atomic_store_n(&p_is_idle, 1, __ATOMIC_RELEASE);
    }
    return unused;
}

/* Comes back from C as to, and gets an idle P if it has none. Goes to C again. */
static void run(int to) {
    uint32_t *status = status_of(&gs[to]), in_c = GO_IN_C, idle = 1;
    while (!__atomic_compare_exchange_n(status, &in_c, GO_RUNNING, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
        in_c = GO_IN_C;
    if (ms[to].words[P_OF_M]) {
        moved++;
        if (the_p.words[M_OF_P] != (uintptr_t)&ms[to])
            fault("the P of the fiber that came names another M");
    } else {
        while (!__atomic_compare_exchange_n(&p_is_idle, &idle, 0, 0, __ATOMIC_SEQ_CST,
                                            __ATOMIC_RELAXED) &&
               !faults)
            idle = 1;
        the_p.words[M_OF_P] = (uintptr_t)&ms[to];
        ms[to].words[P_OF_M] = (uintptr_t)&the_p;
    }
    if (ms[!to].words[P_OF_M])
        fault("two Ms have one P");
    __atomic_store_n(status, GO_IN_C, __ATOMIC_SEQ_CST);
}

/* Until end, or longer on a slow machine: until both have occurred. */
static int goes_on(time_t end) {
    int both = moved && __atomic_load_n(&taken, __ATOMIC_RELAXED);
    return time(NULL) <= end + (both ? 0 : 15);
}

int main(int argc, char **argv) {
    pthread_t takers[TAKERS];
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);

    found = (struct words){P_OF_M, M_OF_P, M_OF_G, STATUS};
    fiberlab_use_handover(1);
    for (int i = 0; i < 2; i++) {
        ms[i].curg = &gs[i];
        gs[i].words[M_OF_G] = (uintptr_t)&ms[i];
        *status_of(&gs[i]) = GO_IN_C;
        fibers[i].go_m = (uintptr_t)&ms[i];
        fibers[i].go_g = (uintptr_t)&gs[i];
    }
    p_is_idle = 1;
    for (int i = 0; i < TAKERS; i++)
        pthread_create(&takers[i], NULL, take, NULL);
    for (uint64_t n = 0; !faults && (n % 1024 != 0 || goes_on(end)); n++) {
        run(n % 2);
        fiberlab_hand_over(&fibers[n % 2], &fibers[(n + 1) % 2]);
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < TAKERS; i++)
        pthread_join(takers[i], NULL);
    printf("the P was moved %ju times and taken %ju times\n", (uintmax_t)moved, (uintmax_t)taken);
    return faults ? 1 : moved == 0 || taken == 0 ? 2 : 0;
}
