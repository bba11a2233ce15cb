/* Ways from C into Go. */
#include <pthread.h>

#include "trapbody.h"
#include "_cgo_export.h"

void trap_call(uintptr_t callback) {
    trapbodyGo(callback);
}

int trap_call_deep(size_t bytes, uintptr_t callback) {
    volatile unsigned char block[bytes];
    for (size_t i = 0; i < bytes; i++)
        block[i] = (unsigned char)(i * 7);
    trapbodyGo(callback);
    size_t same = 0;
    for (size_t i = 0; i < bytes; i++)
        same += block[i] == (unsigned char)(i * 7);
    return same == bytes;
}

static void *thread_main(void *callback) {
    trapbodyGo(*(uintptr_t *)callback);
    return NULL;
}

int trap_call_on_thread(uintptr_t callback) {
    pthread_t thread;
    int error = pthread_create(&thread, NULL, thread_main, &callback);
    return error ? error : pthread_join(thread, NULL);
}

void trap_call_body(void *callback) {
    trapbodyGo(*(uintptr_t *)callback);
}
