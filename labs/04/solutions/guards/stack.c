/* Guards on both sides: 64 KiB below, which frames larger than a page do not step over, and a page
 * above, which catches who writes past the top. */
#include "stack.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t below = 64 * 1024;

int stack_map(struct stack *s, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (size == 0)
        return EINVAL;
    if (size > SIZE_MAX - below - 2 * page)
        return ENOMEM;

    size_t usable = (size + page - 1) / page * page;
    size_t length = below + usable + page;
    char *memory = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return errno;
    if (mprotect(memory + below, usable, PROT_READ | PROT_WRITE) != 0) {
        int error = errno;

        munmap(memory, length);
        return error;
    }
    s->lo = memory + below;
    s->size = usable;
    return 0;
}

int stack_unmap(const struct stack *s) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return munmap(s->lo - below, below + s->size + page) == 0 ? 0 : errno;
}
