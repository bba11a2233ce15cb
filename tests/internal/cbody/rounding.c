/* A body with another rounding mode than its caller. */
#include <fenv.h>

#include "cbody.h"

void cbody_round(void *order) {
    struct cbody_order *o = order;
    o->mode_before = fegetround();
    fesetround((int)o->mode);
    for (int64_t i = 0; i < o->turns; i++) {
        int code = fiberlab_switch(o->peer);
        if (code != FIBERLAB_OK)
            o->code = code;
        o->mode_after = fegetround();
        o->broken += o->mode_after != o->mode;
        o->done++;
    }
}
