/* Threads of C that stay until they are let go. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "cbody.h"

#include "_cgo_export.h"

static sem_t there, over;
static pthread_t *threads;
static int started;

static void wait_for(sem_t *event) {
    while (sem_wait(event) != 0) /* a signal */
        ;
}

void cbody_stay(void) {
    sem_post(&there);
    wait_for(&over);
}

static void *stay_in_c(void *unused) {
    cbody_stay();
    return NULL;
}

static void *stay_in_go(void *unused) {
    cbodyStayInGo();
    return NULL;
}

int cbody_start(int n, int in_go) {
    sem_init(&there, 0, 0);
    sem_init(&over, 0, 0);
    threads = calloc(n, sizeof *threads);
    if (threads == NULL)
        return ENOMEM;
    for (started = 0; started < n; started++) {
        int error = pthread_create(&threads[started], NULL, in_go ? stay_in_go : stay_in_c, NULL);
        if (error != 0)
            return error;
        wait_for(&there);
    }
    return 0;
}

void cbody_end(void) {
    for (int i = 0; i < started; i++)
        sem_post(&over);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}
