/* A flag, its waiter, and its setters. */
#include <stdlib.h>

#include "taskbody.h"

struct taskbody_gate *taskbody_gate_new(int kind) {
    struct taskbody_gate *g = calloc(1, sizeof *g);
    if (!g)
        abort();
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutex_init(&g->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return g;
}

int taskbody_gate_wait(struct taskbody_gate *g, int64_t timeout_ns) {
    pthread_mutex_lock(&g->mutex);
    int code = fiberlab_task_current(&g->waiter);
    while (code == FIBERLAB_TASK_OK && !g->open)
        code = fiberlab_task_wait(&g->mutex, timeout_ns);
    pthread_mutex_unlock(&g->mutex);
    return code;
}

void taskbody_gate_open(void *gate) {
    struct taskbody_gate *g = gate;
    pthread_mutex_lock(&g->mutex);
    g->open = 1;
    fiberlab_task_fiber waiter = g->waiter;
    pthread_mutex_unlock(&g->mutex);
    if (waiter.id != 0)
        fiberlab_task_notify(waiter);
}

static void *open_main(void *gate) {
    taskbody_gate_open(gate);
    return NULL;
}

int taskbody_gate_open_on_thread(struct taskbody_gate *g) {
    pthread_t thread;
    int error = pthread_create(&thread, NULL, open_main, g);
    return error ? error : pthread_join(thread, NULL);
}

int taskbody_gate_try(struct taskbody_gate *g) {
    pthread_mutex_lock(&g->mutex);
    int code = fiberlab_task_wait(&g->mutex, 0);
    return pthread_mutex_unlock(&g->mutex) == 0 ? code : -1;
}
