/* A line put together without stdio, which is not safe in a signal handler. */
#ifndef FIBERLAB_LINE_H
#define FIBERLAB_LINE_H

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

struct fiberlab_line {
    char text[512];
    size_t length;
};

static inline void fiberlab_add(struct fiberlab_line *line, const char *text) {
    while (*text && line->length < sizeof line->text)
        line->text[line->length++] = *text++;
}

static inline void fiberlab_add_number(struct fiberlab_line *line, uintptr_t number,
                                       unsigned base) {
    char digits[24], *at = digits + sizeof digits;
    *--at = 0;
    do {
        *--at = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    if (base == 16)
        fiberlab_add(line, "0x");
    fiberlab_add(line, at);
}

/* Adds text and writes the line to stderr. */
static inline void fiberlab_end_line(struct fiberlab_line *line, const char *text) {
    fiberlab_add(line, text);
    ssize_t written = write(STDERR_FILENO, line->text, line->length);
    (void)written;
}

#endif
