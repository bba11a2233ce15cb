#include <signal.h>

#include "../../../fiber/fiberlab.h"
#include "_cgo_export.h"

void body(void *root);
void wait_in_c(void *mutex);
void die(int number);

/* The local variables keep their values over the call: a debugger must find them. */
static __attribute__((noinline)) int descend(int depth, void *root) {
    volatile int here = depth;
    if (depth > 0)
        return descend(depth - 1, root) + here;
    return fiberlab_switch(root);
}

void body(void *root) {
    descend(3, root);
}

/* Its frame lies between frames of Go. */
void wait_in_c(void *mutex) {
    volatile int here = 7;
    withdraw(mutex);
    here++;
}

/* Dies by that signal. The Go runtime would print the stacks of all goroutines first. */
void die(int number) {
    signal(number, SIG_DFL);
    raise(number);
}
