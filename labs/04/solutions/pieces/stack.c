/* A stack of two pieces: all of it is reserved without any rights, and the usable part is mapped
 * anew over that. The guard is what is left. */
#include "stack.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int stack_map(struct stack *s, size_t size) {
    const size_t page = (size_t)getpagesize();
    const size_t rounded = (size + page - 1) & ~(page - 1);

    if (size == 0)
        return EINVAL;
    if (rounded < size || rounded + page < rounded)
        return ENOMEM;

    char *all = mmap(NULL, rounded + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return errno;
    char *usable = mmap(all + page, rounded, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_STACK, -1, 0);
    if (usable == MAP_FAILED) {
        int why = errno;

        munmap(all, rounded + page);
        return why;
    }
    *s = (struct stack){.lo = usable, .size = rounded};
    return 0;
}

int stack_unmap(const struct stack *s) {
    const size_t page = (size_t)getpagesize();

    if (munmap(s->lo, s->size) != 0)
        return errno;
    if (munmap(s->lo - page, page) != 0)
        return errno;
    return 0;
}
