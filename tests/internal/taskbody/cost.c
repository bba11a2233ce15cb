/* Many calls from one C frame. */
#include "taskbody.h"

void taskbody_yields(int64_t n) {
    while (n-- > 0)
        fiberlab_task_yield();
}

void taskbody_currents(int64_t n) {
    fiberlab_task_fiber self;
    while (n-- > 0)
        fiberlab_task_current(&self);
}
