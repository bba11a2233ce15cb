/* Handing the right to run Go code from the fiber that leaves to the fiber that comes.
 *
 * That right is called a P. A goroutine in C leaves its P behind, where it and others can
 * take it. When it comes back it tries the P that its M remembers
 * (m.oldp), which it had before. If that is taken it looks for an idle one. If there is none it
 * waits. The runtime's monitor takes one from a goroutine that has been in C for too long, after
 * 20 us at best, 10 ms at worst.
 *
 * What a fiber's M remembers may be out of date, since the fibers of a thread leave
 * one after the other, some of them on other threads. A fresh M remembers nothing. So the P with
 * which the last fiber of a thread has left is written into the M of the next. The word is a hint:
 * the runtime takes the P only if a goroutine in C has left it, and a wrong hint costs time,
 * nothing else. It is written while the M does not run, by the thread that has claimed its fiber.
 *
 * Where an M keeps the word is found by its value, on two threads. If it is not
 * found, nothing is written: all works, but some fibers wait for the monitor.
 */
#include "core.h"

/* How many words of an M and of a g are searched; both have many more. */
enum { SEARCHED_M = FIBERLAB_SEARCHED_M, SEARCHED_G = 16 };

static int p_word = -1; /* of an M: m.oldp */
static int m_word = -1; /* of a g: g.m */
static int used;        /* both were verified */

/* While C runs, the slot holds the g of the M's own stack. */
static uintptr_t *current_g(void) {
    return (uintptr_t *)*fiberlab_slot();
}

static int search_g(uintptr_t m, int *at) {
    int hits = 0;
    for (int i = 0; i < SEARCHED_G; i++)
        if (current_g()[i] == m) {
            hits++;
            *at = i;
        }
    return hits;
}

/* A word that was empty while the goroutine ran Go, and holds now what another
 * word held then: the P. Small numbers are not addresses. */
static int search_m(const uintptr_t *now, const uintptr_t *then, int *at) {
    int hits = 0;
    for (int i = 0; i < SEARCHED_M; i++) {
        if (then[i] != 0 || now[i] < 65536 || now[i] % sizeof(uintptr_t) != 0)
            continue;
        int held = 0;
        for (int j = 0; j < SEARCHED_M; j++)
            held |= then[j] == now[i];
        if (held) {
            hits++;
            *at = i;
        }
    }
    return hits;
}

/* Called from Go by a goroutine that is locked to its thread. m is its M, and then holds the M's
 * words as they were a moment ago, while Go ran. Returns whether both words were found, each once.
 * The goroutine may have got another P in between: then m.oldp is not found, and the caller should
 * try again. */
int fiberlab_find_p(uintptr_t m, const uintptr_t then[SEARCHED_M]) {
    int in_m = -1, in_g = -1;
    if (search_m((const uintptr_t *)m, then, &in_m) != 1 || search_g(m, &in_g) != 1)
        return 0;
    p_word = in_m;
    m_word = in_g;
    return 1;
}

/* The same on another thread. Returns whether the words are where they were found. */
int fiberlab_verify_p(uintptr_t m, const uintptr_t then[SEARCHED_M]) {
    int in_m = -1, in_g = -1;
    return search_m((const uintptr_t *)m, then, &in_m) == 1 && in_m == p_word &&
           search_g(m, &in_g) == 1 && in_g == m_word;
}

/* Has fiberlab_p and fiberlab_m answer from now on, if use is not 0. */
void fiberlab_use_p(int use) {
    used = use;
}

/* Returns the M that the calling thread runs on, or 0 if it has none or that is not known. Signal
 * handlers may call it. */
uintptr_t fiberlab_m(void) {
    return used && current_g() ? current_g()[m_word] : 0;
}

/* Returns the word in which that M remembers its P, or NULL if it is not known. */
uintptr_t *fiberlab_p(void) {
    uintptr_t m = fiberlab_m();
    return m ? (uintptr_t *)m + p_word : NULL;
}
