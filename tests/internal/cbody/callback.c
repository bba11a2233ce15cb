/* C that calls Go. */
#include "cbody.h"

#include "_cgo_export.h"

void cbody_call_go(uintptr_t callback) {
    cbodyGo(callback);
}

void cbody_call(void *order) {
    struct cbody_order *o = order;
    for (int64_t i = 0; i < o->turns; i++) {
        o->self = fiberlab_current();
        cbody_call_go(o->callback);
        o->broken += fiberlab_current() != o->self;
        o->done++;
    }
}
