/* The functions of fiberlab_task.h, each of which is one of the Go side. */
#include "fiberlab_task.h"

#include "_cgo_export.h"

int fiberlab_task_schedule(void (*fn)(void *), void *arg) {
    return fiberlabTaskSchedule((uintptr_t)fn, (uintptr_t)arg);
}

int fiberlab_task_yield(void) {
    return fiberlabTaskYield();
}

int fiberlab_task_current(fiberlab_task_fiber *fiber) {
    if (!fiber)
        return FIBERLAB_TASK_NULL;
    uint64_t id = fiberlabTaskCurrent();
    if (id == 0)
        return FIBERLAB_TASK_NO_FIBER;
    fiber->id = id;
    return FIBERLAB_TASK_OK;
}

int fiberlab_task_wait(pthread_mutex_t *mutex, int64_t timeout_ns) {
    return fiberlabTaskWait(mutex, timeout_ns);
}

int fiberlab_task_notify(fiberlab_task_fiber fiber) {
    return fiberlabTaskNotify(fiber.id);
}

/* Called from Go: runs a task. */
void fiberlab_task_run(uintptr_t fn, uintptr_t arg) {
    ((void (*)(void *))fn)((void *)arg);
}

const char *fiberlab_task_error_text(int error) {
    switch ((enum fiberlab_task_error)error) {
    case FIBERLAB_TASK_OK:
        return "no error";
    case FIBERLAB_TASK_TIMED_OUT:
        return "nobody has notified the fiber in time";
    case FIBERLAB_TASK_NO_FIBER:
        return "the caller runs on no fiber: call it from inside a task";
    case FIBERLAB_TASK_NO_SCHEDULER:
        return "the caller belongs to no scheduler: call it from inside a task";
    case FIBERLAB_TASK_CLOSED:
        return "the scheduler is closed and takes no more tasks";
    case FIBERLAB_TASK_BACKEND:
        return "a fiber of the goroutine backend cannot leave a C frame: "
               "use the backend asm or ucontext";
    case FIBERLAB_TASK_MUTEX:
        return "the mutex was not locked by the caller, or another fiber of its thread holds it";
    case FIBERLAB_TASK_NULL:
        return "an argument is a null pointer that must not be one";
    case FIBERLAB_TASK_NO_HANDLE:
        return "no fiber has ever had this handle";
    }
    return "unknown error";
}
