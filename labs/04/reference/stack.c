/* The memory that a fiber runs on. */
#include "stack.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int stack_map(struct stack *s, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (size == 0)
        return EINVAL;
    if (size > SIZE_MAX - 2 * page) /* the sums below would come out small */
        return ENOMEM;

    size_t usable = (size + page - 1) / page * page;
    size_t length = page + usable;
    char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return errno;
    /* A stack grows down, so the guard is the lowest page. */
    if (mprotect(memory, page, PROT_NONE) != 0) {
        int error = errno;

        munmap(memory, length);
        return error;
    }
    s->lo = memory + page;
    s->size = usable;
    return 0;
}

int stack_unmap(const struct stack *s) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return munmap(s->lo - page, page + s->size) == 0 ? 0 : errno;
}
