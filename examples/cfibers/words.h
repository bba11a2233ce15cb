/* Two C functions that take turns, and what they share. */
#ifndef WORDS_H
#define WORDS_H

#include "fiberlab.h"

struct words {
    fiberlab_fiber *reader, *printer;
    const char *text; /* what the reader takes apart */
    char word[32];    /* the word that it has found; empty: there are no more */
};

/* The bodies of the two fibers. Their argument is the same struct words. */
void reader(void *words);
void printer(void *words);

#endif
