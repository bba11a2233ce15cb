/* The functions of fiberlab_task.h. Each calls its counterpart in ctask.go.
 *
 * None uses a thread-local variable, because a fiber may go on on another thread
 * after a wait or a yield. */
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
        return "the fiber was not notified in time";
    case FIBERLAB_TASK_NO_FIBER:
        return "the caller does not run on a fiber: call it from inside a task";
    case FIBERLAB_TASK_NO_SCHEDULER:
        return "the caller belongs to no scheduler: call it from inside a task";
    case FIBERLAB_TASK_CLOSED:
        return "the scheduler is closed and takes no more tasks";
    case FIBERLAB_TASK_BACKEND:
        return "a fiber of the goroutine backend cannot leave a C frame: "
               "use the backend asm or ucontext";
    case FIBERLAB_TASK_MUTEX:
        return "the mutex was not locked by the caller, or could not be locked again";
    case FIBERLAB_TASK_NULL:
        return "an argument is a null pointer that must not be one";
    case FIBERLAB_TASK_NO_HANDLE:
        return "no fiber ever had this handle";
    case FIBERLAB_TASK_OVERLOADED:
        return "too many tasks wait to begin: schedule fewer at a time, or give the scheduler "
               "more room or more workers";
    }
    return "unknown error";
}
