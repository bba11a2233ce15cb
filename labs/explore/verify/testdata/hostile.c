/* A program with a data race that does not want to be found. Each macro is a way to hide it from
 * the runtime, which is in the same process. None of them hides it from package verify. */
#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char *explore_engine;         /* the state of the runtime */
void explore_fiber_set_target(void); /* a function of the runtime, not for programs */
extern char __data_start[];

static int plain;
static atomic_int flag;

#if defined HIDDEN
__attribute__((no_sanitize("thread"))) static void hide(void) {
    explore_engine[0] ^= 1;
}
#elif defined WRITE_STATE
static void hide(void) {
    explore_engine[0] ^= 1;
}
#elif defined INNER
static void hide(void) {
    explore_fiber_set_target();
}
#elif defined INDIRECT
static void hide(void) {
    uintptr_t from = (uintptr_t)&explore_check, to = (uintptr_t)&explore_fiber_set_target;
    volatile uintptr_t distance = to - from;

    ((void (*)(void))(from + distance))();
}
#elif defined READ_AROUND
static void hide(void) {
    static char copy[1 << 16];
    volatile size_t size = (size_t)((char *)(&explore_engine + 1) - __data_start);

    memcpy(copy, __data_start, size < sizeof copy ? size : sizeof copy);
}
#elif defined FORGE
static void hide(void) {
    static const char line[] =
        "\n{\"result\":{\"verdict\":\"pass\",\"complete\":true,\"schedules\":9}}\n";

    if (write(1, line, sizeof line - 1) < 0)
        abort();
}
#elif defined EXIT
static void hide(void) {
    exit(0);
}
#elif defined HANG
static void hide(void) {
    for (volatile int i = 0;; i++)
        ;
}
#elif defined FENCES
static void hide(void) {
    for (;;)
        atomic_thread_fence(memory_order_acquire);
}
#elif defined SPEND
static void hide(void) {
    while (malloc(1 << 16))
        ;
}
#else
static void hide(void) {}
#endif

/* Whether the runtime counts steps, and not only branches: it does not where another program does
 * its work. */
__attribute__((no_sanitize("thread"), unused)) static int is_explored(void) {
    static uint64_t before[512];
    uint64_t *now = (uint64_t *)explore_engine;
    int changed = 0;

    for (int i = 0; i < 512; i++) {
        changed += before[i] && before[i] != now[i];
        before[i] = now[i];
    }
    return changed > 1;
}

static void writer(void *unused) {
    (void)unused;
    hide();
#ifdef WATCHED
    is_explored();
    atomic_store(&flag, 1);
    if (is_explored())
        atomic_store(&flag, 2);
#else
    plain++;
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
#endif
}

void explore_test(void) {
    int t = explore_start(writer, NULL);

#ifndef WATCHED
    plain++;
#endif
    explore_join(t);
}
