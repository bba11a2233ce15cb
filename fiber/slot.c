/* Finding the g slot: the thread-local word in which the Go runtime keeps the
 * goroutine that the calling thread runs.
 *
 * The linker puts it somewhere into the thread-local storage of what it makes,
 * and C has no name for it. But Go assembly can read it. So the blocks of
 * thread-local storage, of the program and of its libraries, one of which may be
 * Go's (-buildmode=c-shared), are searched for the word that Go assembly reads.
 * Other words may hold the same value: on arm64 and riscv64, g is also in a
 * callee-saved register, and C code may have saved its registers there. So each
 * word with this value is changed for a moment: if the assembly then reads the
 * other value, the word is the slot. Go's linker asks for static storage, where
 * the word's distance from the thread pointer is the same in every thread. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>

#include "core.h"

ptrdiff_t fiberlab_slot_offset;

struct search {
    uintptr_t (*reader)(void); /* the assembly that reads the slot */
    uintptr_t value;
    ptrdiff_t offset;
    int hits;
};

/* Returns whether the assembly reads word. Signals are blocked: Go's handlers read the slot. */
static int is_read(volatile uintptr_t *word, const struct search *search) {
    *word = ~search->value;
    int follows = search->reader() == ~search->value;
    *word = search->value;
    return follows;
}

static int search_object(struct dl_phdr_info *info, size_t size, void *p) {
    struct search *search = p;
    (void)size;
    char *block = info->dlpi_tls_data;
    for (int i = 0; block && i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_TLS)
            continue;
        for (size_t at = 0; at + sizeof(uintptr_t) <= info->dlpi_phdr[i].p_memsz;
             at += sizeof(uintptr_t)) {
            uintptr_t *word = (uintptr_t *)(block + at);
            if (*word == search->value && is_read(word, search)) {
                search->hits++;
                search->offset = block + at - fiberlab_tp();
            }
        }
    }
    return 0; /* go on with the next one */
}

/* Called from Go. Returns the number of words found. If there is one, the slot is known. */
int fiberlab_find_slot(uintptr_t (*reader)(void)) {
    struct search search = {.reader = reader, .value = reader()};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (search.value != 0)
        dl_iterate_phdr(search_object, &search);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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
