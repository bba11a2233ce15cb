/* The global variables of the program get their first values back before each schedule: all of
 * .data and .bss is copied once and written back. */
#include "engine.h"

extern char __data_start[], _edata[], __bss_start[], _end[];

void *__real_memcpy(void *to, const void *from, size_t size);

struct globals {
    char *data, *bss;
};

static struct globals *saved;

void globals_save(void) {
    saved = map_memory(sizeof *saved);
    saved->data = map_memory((size_t)(_edata - __data_start) + 1);
    saved->bss = map_memory((size_t)(_end - __bss_start) + 1);
    __real_memcpy(saved->data, __data_start, (size_t)(_edata - __data_start));
    __real_memcpy(saved->bss, __bss_start, (size_t)(_end - __bss_start));
}

void globals_restore(void) {
    __real_memcpy(__data_start, saved->data, (size_t)(_edata - __data_start));
    __real_memcpy(__bss_start, saved->bss, (size_t)(_end - __bss_start));
}
