/* Threads of C that stay. */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "cbody.h"

#include "_cgo_export.h"

static sem_t there;

void cbody_stay(void) {
    sem_post(&there);
    for (;;)
        pause();
}

static void *stay_in_c(void *unused) {
    cbody_stay();
    return NULL;
}

static void *stay_in_go(void *unused) {
    cbodyStayInGo();
    return NULL;
}

int cbody_start(int threads, int in_go) {
    sem_init(&there, 0, 0);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        int error = pthread_create(&thread, NULL, in_go ? stay_in_go : stay_in_c, NULL);
        if (error != 0)
            return error;
        while (sem_wait(&there) != 0) /* a signal */
            ;
    }
    return 0;
}
