/* Dining philosophers: each takes the fork on the left, then the one on the right.
 *
 * From E. W. Dijkstra, "Hierarchical Ordering of Sequential Processes", Acta Informatica 1 (1971).
 * With -DALL_LEFT each may hold one fork and wait for the next. In the correct form the last one
 * takes the right fork first. */
#include <explore.h>
#include <stddef.h>

enum { PHILOSOPHERS = 3 };

static explore_mutex forks[PHILOSOPHERS];
static int meals[PHILOSOPHERS]; /* by fork: written by those who share it */

static void dine(void *place) {
    int left = (int)((explore_mutex *)place - forks), right = (left + 1) % PHILOSOPHERS;

#ifndef ALL_LEFT
    if (right < left) {
        int other = left;
        left = right;
        right = other;
    }
#endif
    explore_lock(&forks[left]);
    explore_lock(&forks[right]);
    meals[left]++;
    meals[right]++;
    explore_unlock(&forks[right]);
    explore_unlock(&forks[left]);
}

void explore_test(void) {
    int threads[PHILOSOPHERS];

    for (int i = 0; i < PHILOSOPHERS; i++) {
        threads[i] = explore_start(dine, &forks[i]);
    }
    for (int i = 0; i < PHILOSOPHERS; i++) {
        explore_join(threads[i]);
    }
    for (int i = 0; i < PHILOSOPHERS; i++) {
        explore_check(meals[i] == 2, "each fork was used by two");
    }
}
