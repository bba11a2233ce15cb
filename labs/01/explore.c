/* Shows what strangers do to the registers, by your lab_observe: `make explore`. Given; not handed
 * in.
 *
 * Each stranger is called twice, with other values in the registers. A register survives a stranger
 * if it holds its value afterwards both times. To survive one stranger may be luck; to survive
 * every stranger is the convention. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "convention.h"

/* Changes nothing but what a call and a return need. */
static void idle(void) {}

/* Changes all that the convention lets a function change. The compiler is told so, and saves
 * nothing. */
static void greedy(void) {
#if defined(__x86_64__)
    __asm__ volatile(
        "xorl %%eax, %%eax\n xorl %%ecx, %%ecx\n xorl %%edx, %%edx\n xorl %%esi, %%esi\n xorl "
        "%%edi, %%edi\n"
        "xorl %%r8d, %%r8d\n xorl %%r9d, %%r9d\n xorl %%r10d, %%r10d\n xorl %%r11d, %%r11d" ::
            : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
#else
    __asm__ volatile(
        "mov x0, #0\n mov x1, #0\n mov x2, #0\n mov x3, #0\n mov x4, #0\n mov x5, #0\n mov x6, "
        "#0\n mov x7, #0\n"
        "mov x8, #0\n mov x9, #0\n mov x10, #0\n mov x11, #0\n mov x12, #0\n mov x13, #0\n mov "
        "x14, #0\n"
        "mov x15, #0\n mov x16, #0\n mov x17, #0\n mov x18, #0\n"
        "fmov d8, d8\n fmov d9, d9\n fmov d10, d10\n fmov d11, d11\n" /* clears the high halves */
        "fmov d12, d12\n fmov d13, d13\n fmov d14, d14\n fmov d15, d15" ::
            : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
              "x13", "x14", "x15", "x16", "x17", "x18");
#endif
}

static void clocks(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
}

static void prints(void) {
    char text[64];
    snprintf(text, sizeof text, "%d %s %g", 12, "words", 3.5);
}

static void allocates(void) {
    void *volatile block = malloc(1000); /* volatile: else the compiler leaves both calls out */
    free(block);
}

static const struct {
    const char *name;
    lab_stranger_function *call;
} strangers[] = {{"idle", idle},
                 {"clocks", clocks},
                 {"allocates", allocates},
                 {"prints", prints},
                 {"greedy", greedy}};
enum { STRANGERS = sizeof strangers / sizeof *strangers, WORDS = sizeof(struct lab_registers) / 8 };

/* The name of word i of struct lab_registers. */
static const char *name(int i) {
    static char text[32];
#if defined(__x86_64__)
    static const char *const names[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
                                        "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    snprintf(text, sizeof text, "%s", names[i]);
#else
    if (i < 30) {
        snprintf(text, sizeof text, "x%d", i);
    } else {
        snprintf(text, sizeof text, "v%d %s half", 8 + (i - 30) / 2, i % 2 ? "high" : "low");
    }
#endif
    return text;
}

int main(void) {
    static char kept[STRANGERS][WORDS];
    memset(kept, 1, sizeof kept);
    for (int s = 0; s < STRANGERS; s++) {
        for (int round = 0; round < 2; round++) {
            struct lab_registers before, after;
            uint64_t words[2][WORDS];
            for (int i = 0; i < WORDS; i++) {
                words[0][i] =
                    (round ? 0x5555000000000000 : 0x3333000000000000) + (uint64_t)i * 0x0101010101;
            }
            memcpy(&before, words[0], sizeof before);
            memset(&after, 0xee, sizeof after);
            lab_observe(strangers[s].call, &before, &after);
            memcpy(words[1], &after, sizeof after);
            for (int i = 0; i < WORDS; i++) {
                kept[s][i] &= words[0][i] == words[1][i];
            }
        }
    }
    printf("%-14s", "");
    for (int s = 0; s < STRANGERS; s++) {
        printf(" %-9s", strangers[s].name);
    }
    printf("\n");
    for (int i = 0; i < WORDS; i++) {
        printf("%-14s", name(i));
        for (int s = 0; s < STRANGERS; s++) {
            printf(" %-9s", kept[s][i] ? "kept" : "-");
        }
        printf("\n");
    }
    return 0;
}
