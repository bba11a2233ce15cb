/* Finding the g slot: the thread-local word in which the Go runtime keeps the
 * goroutine that the calling thread runs.
 *
 * The linker puts it somewhere into the thread-local storage of what it makes,
 * and C has no name for it. But its value is known: Go assembly can
 * read it. So the blocks of thread-local storage, of the program and of its libraries, one of which
 * may be Go's (-buildmode=c-shared), are searched for the one word
 * that holds this value. Go's linker asks for static storage, where the
 * word's distance from the thread pointer is the same in every thread. */
#define _GNU_SOURCE
#include <link.h>

#include "core.h"

ptrdiff_t fiberlab_slot_offset;

struct search {
    uintptr_t value;
    ptrdiff_t offset;
    int hits;
};

static int search_object(struct dl_phdr_info *info, size_t size, void *p) {
    struct search *search = p;
    (void)size;
    char *block = info->dlpi_tls_data;
    for (int i = 0; block && i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_TLS)
            continue;
        for (size_t at = 0; at + sizeof(uintptr_t) <= info->dlpi_phdr[i].p_memsz;
             at += sizeof(uintptr_t)) {
            if (*(uintptr_t *)(block + at) == search->value) {
                search->hits++;
                search->offset = block + at - fiberlab_tp();
            }
        }
    }
    return 0; /* go on with the next one */
}

/* Called from Go. Returns how often the slot's value was found. If once, the slot is known. */
int fiberlab_find_slot(uintptr_t (*reader)(void)) {
    struct search search = {.value = reader()};
    if (search.value != 0)
        dl_iterate_phdr(search_object, &search);
    if (search.hits == 1)
        fiberlab_slot_offset = search.offset;
    return search.hits;
}

/* Called from Go on another thread than fiberlab_find_slot. Returns whether the
 * slot is where that function found it. */
int fiberlab_verify_slot(uintptr_t (*reader)(void)) {
    uintptr_t value = reader();
    return value != 0 && *fiberlab_slot() == value;
}

uintptr_t fiberlab_thread_pointer(void) {
    return (uintptr_t)fiberlab_tp();
}
