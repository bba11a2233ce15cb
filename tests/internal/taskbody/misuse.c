/* Calls from where they must not come, and with what they must not be given. */
#include "taskbody.h"

static void nothing(void *unused) {
    (void)unused;
}

struct taskbody_codes taskbody_probe(void) {
    fiberlab_task_fiber self;
    return (struct taskbody_codes){
        .schedule = fiberlab_task_schedule(nothing, (void *)1), /* an argument, not an address */
        .schedule_null = fiberlab_task_schedule(NULL, NULL),
        .yield = fiberlab_task_yield(),
        .current = fiberlab_task_current(&self),
        .current_null = fiberlab_task_current(NULL),
        .wait = fiberlab_task_wait(NULL, 0),
        .notify_zero = fiberlab_task_notify((fiberlab_task_fiber){0}),
        .notify_unissued = fiberlab_task_notify((fiberlab_task_fiber){UINT64_MAX}),
    };
}

static void *probe_main(void *codes) {
    *(struct taskbody_codes *)codes = taskbody_probe();
    return NULL;
}

int taskbody_probe_on_thread(struct taskbody_codes *codes) {
    pthread_t thread;
    int error = pthread_create(&thread, NULL, probe_main, codes);
    return error ? error : pthread_join(thread, NULL);
}
