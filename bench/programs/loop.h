// The loop of the programs in C++. A program prints that it is ready. Each line of its input is a
// number of round trips; it makes them, and prints how many nanoseconds they took.
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
