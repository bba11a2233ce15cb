// What the programs in C++ have in common: they say that they are ready, and answer each line of
// input, a number of round trips, by the nanoseconds that they took.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <sys/prctl.h>

static inline uint64_t nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t run(uint64_t trips);

int main() {
    char line[32];
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); // who measures counts system calls
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%llu\n", (unsigned long long)run(strtoull(line, nullptr, 10)));
        fflush(stdout);
    }
}
