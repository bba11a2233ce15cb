/* C++ exceptions on fibers.
 *
 * The C++ runtime keeps for each thread which exceptions are being handled: `throw;`
 * and the end of a catch clause mean the latest. A fiber that switches inside a catch
 * clause must find its own when it comes back, so leave in switch.c exchanges the record
 * with the fibers. The C++ ABI has a function that returns the record's address; a program
 * without C++ in it has none.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "core.h"

extern void *__cxa_get_globals(void) __attribute__((weak));

static void *(*globals)(void); /* NULL: not found so far */

/* Looks for the C++ runtime, if none was found before. */
void fiberlab_find_exceptions(void) {
    if (__atomic_load_n(&globals, __ATOMIC_RELAXED))
        return;
    void *(*function)(void) = __cxa_get_globals;
    if (!function) {
        /* The program is not linked with it, but a library may have brought it. */
        void *found = dlsym(RTLD_DEFAULT, "__cxa_get_globals");
        memcpy(&function, &found, sizeof function);
    }
    __atomic_store_n(&globals, function, __ATOMIC_RELAXED);
}

/* Returns the record of the calling thread, or NULL if the program had no C++ runtime when a root
 * was last attached. */
struct fiberlab_exceptions *fiberlab_thread_exceptions(void) {
    void *(*function)(void) = __atomic_load_n(&globals, __ATOMIC_RELAXED);
    return function ? function() : NULL;
}
