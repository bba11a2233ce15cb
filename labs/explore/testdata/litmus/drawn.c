/* A litmus test that is drawn at random: the environment variable LITMUS has its threads, separated
 * by bars. A step is a letter, then an object (x or y), then values and the memory order, one digit
 * each. The letters: R load, W store, X exchange, C compare-and-swap (expected, desired; relaxed if
 * it fails), F fence. The outcome has a digit in base 4 for each value read. The calls are those
 * that the compiler makes, since it takes only constant orders. */
#include <explore.h>
#include <stdint.h>
#include <stdlib.h>

uint32_t __tsan_atomic32_load(const volatile void *object, int order);
void __tsan_atomic32_store(volatile void *object, uint32_t value, int order);
uint32_t __tsan_atomic32_exchange(volatile void *object, uint32_t value, int order);
int __tsan_atomic32_compare_exchange_strong(volatile void *object, void *expected, uint32_t desired,
                                            int order, int failure);
void __tsan_atomic_thread_fence(int order);

enum { BODIES = 4, READS = 5 };

static uint32_t object[2];
static unsigned value[READS];
static const char *body[BODIES];
static int first_read[BODIES];

__attribute__((no_sanitize("thread"))) static void run(void *arg) {
    intptr_t n = (intptr_t)arg;
    int read = first_read[n];
    uint32_t expected;

    for (const char *p = body[n]; *p && *p != '|';) {
        char step = *p++;
        uint32_t *at = &object[step == 'F' ? 0 : *p++ - 'x'];

        switch (step) {
        case 'R':
            value[read++] = __tsan_atomic32_load(at, p[0] - '0');
            p += 1;
            break;
        case 'W':
            __tsan_atomic32_store(at, (uint32_t)(p[0] - '0'), p[1] - '0');
            p += 2;
            break;
        case 'X':
            value[read++] = __tsan_atomic32_exchange(at, (uint32_t)(p[0] - '0'), p[1] - '0');
            p += 2;
            break;
        case 'C':
            expected = (uint32_t)(p[0] - '0');
            __tsan_atomic32_compare_exchange_strong(at, &expected, (uint32_t)(p[1] - '0'),
                                                    p[2] - '0', 0);
            value[read++] = expected;
            p += 3;
            break;
        default:
            __tsan_atomic_thread_fence(p[0] - '0');
            p += 1;
        }
    }
}

__attribute__((no_sanitize("thread"))) void explore_test(void) {
    int bodies = 0, reads = 0, thread[BODIES];
    unsigned outcome = 0;

    for (const char *p = getenv("LITMUS"), *before = "|"; p && *p; before = p++) {
        if (*before == '|') {
            body[bodies] = p;
            first_read[bodies++] = reads;
        }
        reads += *p == 'R' || *p == 'X' || *p == 'C';
    }
    for (int i = 0; i < bodies; i++)
        thread[i] = explore_start(run, (void *)(intptr_t)i);
    for (int i = 0; i < bodies; i++)
        explore_join(thread[i]);
    for (int i = 0; i < reads; i++)
        outcome = outcome * 4 + value[i];
    explore_outcome(outcome);
}
