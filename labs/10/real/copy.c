/* Copies a file of BLOCKS blocks. */
#include <stddef.h>
#include <unistd.h>

#include "real.h"

/* One of REQUESTS copiers, each of which reads a block, writes it, and takes the next one. */
struct copier {
    int from, to;
    unsigned block; /* its number */
    char buffer[BLOCK];
};

static unsigned next_block;

static void begin(struct copier *c, bool reads, void (*over)(void *, int)) {
    ticket t = engine_begin((struct work){
        .operation = reads ? RING_READ : RING_WRITE,
        .file = reads ? c->from : c->to,
        .buffer = c->buffer,
        .length = BLOCK,
        .offset = (uint64_t)c->block * BLOCK,
        .over = over,
        .arg = c,
    });

    must(t != 0, "an engine begins REQUESTS requests");
}

static void next(struct copier *c);

static void written(void *arg, int result) {
    must(result == BLOCK, "a block is written");
    next(arg);
}

static void has_read(void *arg, int result) {
    must(result == BLOCK, "a block is read");
    begin(arg, false, written);
}

static void next(struct copier *c) {
    if (next_block < BLOCKS) {
        c->block = next_block++;
        begin(c, true, has_read);
    }
}

void copy_by_engine(int from, int to) {
    static struct copier copiers[REQUESTS];

    next_block = 0;
    for (int i = 0; i < REQUESTS; i++) {
        copiers[i].from = from;
        copiers[i].to = to;
        next(&copiers[i]);
    }
    engine_run();
    must(next_block == BLOCKS, "all blocks are copied");
}

void copy_by_calls(int from, int to) {
    static char buffer[BLOCK];

    for (unsigned i = 0; i < BLOCKS; i++) {
        must(CALL(read(from, buffer, BLOCK)) == BLOCK, "a block is read");
        must(CALL(write(to, buffer, BLOCK)) == BLOCK, "a block is written");
    }
}
