#include "prober.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Of processor time, after which a broken switch is taken to run in circles. A check takes a few
 * milliseconds. */
enum { SECONDS = 3 };

static const struct {
    const char *name;
    int (*run)(const struct variant *v);
} checks[] = {
    {"registers", check_registers}, {"control", check_control},   {"entry", check_entry},
    {"rounding", check_rounding},   {"locals", check_locals},     {"backtrace", check_backtrace},
    {"frames", check_frames},       {"returned", check_returned},
};

static uint64_t random_state;

uint64_t next_random(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void *new_context(const struct variant *v) {
    void *ctx = malloc(v->context_size);

    if (ctx == NULL)
        abort();
    /* A slot that is never filled must show. */
    memset(ctx, 0xa5, v->context_size);
    return ctx;
}

void *new_stack(size_t size) {
    /* An unmapped page on either side: an access beyond the stack ends the program. */
    const size_t page = sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + page, size, PROT_READ | PROT_WRITE) != 0)
        abort();
    return p + page;
}

/* Makes the processor check the branch targets of this program. The loader does so only if all
 * objects, including the C library's, ask for it. */
static int enforce_branch_targets(void) {
#ifdef __ARM_FEATURE_BTI_DEFAULT
    extern char __executable_start[], etext[];
    uintptr_t start = (uintptr_t)__executable_start & -(uintptr_t)sysconf(_SC_PAGESIZE);

    return mprotect((void *)start, (uintptr_t)etext - start,
                    PROT_READ | PROT_EXEC | 0x10 /* PROT_BTI */);
#else
    return 0;
#endif
}

int main(int argc, char **argv) {
    const struct variant *v;
    size_t i;

    if (argc != 4) {
        fprintf(stderr, "usage: prober VARIANT CHECK SEED\n");
        return 2;
    }
    random_state = strtoull(argv[3], NULL, 10);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS, SECONDS});
    if (enforce_branch_targets() != 0) {
        fprintf(stderr, "prober: this processor does not check branch targets\n");
        return SKIPPED;
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    for (v = variants; v->name != NULL && strcmp(v->name, argv[1]) != 0; v++)
        ;
    for (i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (v->name != NULL && strcmp(checks[i].name, argv[2]) == 0)
            _exit(checks[i].run(v));
    fprintf(stderr, "prober: no variant %s or no check %s\n", argv[1], argv[2]);
    return 2;
}
