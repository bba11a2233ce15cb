/* What happens when a fiber runs into its guard page: section 4.8. */
#include "stack.h"

#include <errno.h>

int overflow_watch(const struct fiber *fibers, size_t count, int status) {
    (void)fibers;
    (void)count;
    (void)status;
    return ENOSYS; /* section 4.8: your work */
}
