#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Switches to a fiber, and returns when a fiber switches back. */
static void resume(fiberlab_fiber *to) {
    int error = fiberlab_switch(to);
    if (error != FIBERLAB_OK) {
        fprintf(stderr, "cfibers: %s\n", fiberlab_error_text(error));
        abort();
    }
}

/* Finds one word after the other. Both loops, with their variables, stand still on this fiber's
 * stack while the printer runs. */
void reader(void *arg) {
    struct words *w = arg;
    const char *at = w->text;
    while (*at) {
        size_t length = strcspn(at, " ");
        snprintf(w->word, sizeof w->word, "%.*s", (int)length, at);
        at += length;
        at += strspn(at, " ");
        resume(w->printer);
    }
    w->word[0] = '\0';
    resume(w->printer); /* which returns: then main goes on */
}

/* Prints the words that the reader finds. */
void printer(void *arg) {
    struct words *w = arg;
    int words = 0;
    for (resume(w->reader); w->word[0]; resume(w->reader))
        printf("%d %s\n", ++words, w->word);
    fflush(stdout);
}
