/* C bodies for the fibers of the creation benchmark. */
#include "bodies.h"

#include "../fiber/fiberlab.h"

void return_body(void *unused) {
    (void)unused;
}

void hold_body(void *root) {
    fiberlab_switch(root);
}
