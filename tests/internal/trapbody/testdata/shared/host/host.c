/* Loads the library that it is given while it runs, and calls it on two threads. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static void *on_thread(void *run_fibers) {
    return (void *)(intptr_t)((int (*)(void))run_fibers)();
}

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *run_fibers = library ? dlsym(library, "runFibers") : NULL;
    pthread_t thread;
    void *failed;
    if (!run_fibers) {
        puts(dlerror());
        return 1;
    }
    if (on_thread(run_fibers) || pthread_create(&thread, NULL, on_thread, run_fibers) ||
        pthread_join(thread, &failed) || failed)
        return 1;
    puts("ok");
    return 0;
}
