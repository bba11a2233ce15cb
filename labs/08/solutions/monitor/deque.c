/* Lists that lead from the oldest task to the newest one, all under one lock. */
#include <explore.h>
#include <stddef.h>

#include "stealing.h"

static explore_mutex lock;
static struct task *lists[WORKERS];

bool deque_push(int worker, struct task *task) {
    int count = 0;

    explore_lock(&lock);
    struct task **at = &lists[worker];
    while (*at != NULL) {
        at = &(*at)->next;
        count++;
    }
    if (count < CAPACITY) {
        task->next = NULL;
        *at = task;
    }
    explore_unlock(&lock);
    return count < CAPACITY;
}

struct task *deque_take(int worker) {
    explore_lock(&lock);
    struct task **at = &lists[worker];
    while (*at != NULL && (*at)->next != NULL) {
        at = &(*at)->next;
    }
    struct task *newest = *at;
    *at = NULL;
    explore_unlock(&lock);
    return newest;
}

struct task *deque_steal(int victim) {
    explore_lock(&lock);
    struct task *oldest = lists[victim];
    if (oldest != NULL) {
        lists[victim] = oldest->next;
    }
    explore_unlock(&lock);
    return oldest;
}
