/* A test that counts what takes.c does. */
#include <explore.h>

void submission(void);

void explore_test(void) {
    explore_put(1);
    submission();
}
