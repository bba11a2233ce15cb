/* Nothing can be touched at first; then the usable pages can. */
#include "stack.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void) {
    long page = sysconf(_SC_PAGESIZE);

    return (size_t)page;
}

int stack_map(struct stack *s, size_t size) {
    size_t page = page_size(), pages = size / page + (size % page != 0);
    char *memory;

    if (pages == 0)
        return EINVAL;
    if (pages >= SIZE_MAX / page)
        return ENOMEM;
    memory =
        mmap(0, (pages + 1) * page, PROT_NONE, MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    if (mprotect(memory + page, pages * page, PROT_READ | PROT_WRITE) < 0) {
        int error = errno;

        munmap(memory, (pages + 1) * page);
        return error;
    }
    s->lo = memory + page;
    s->size = pages * page;
    return 0;
}

int stack_unmap(const struct stack *s) {
    size_t page = page_size();

    if (munmap(s->lo - page, s->size + page) < 0)
        return errno;
    return 0;
}
