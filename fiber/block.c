/* Control blocks: what they own, and what Go sets in them. */
#include <stdlib.h>
#include <string.h>

#include "../cgo_ucontext/context.h"
#include "core.h"

/* Allocates what the block's own mechanism needs, unless it has it. Returns a
 * fiberlab_error. */
int fiberlab_block_reserve(fiberlab_fiber *block) {
    if (block->own != FIBERLAB_BY_UCONTEXT || block->ucontext)
        return FIBERLAB_OK;
    size_t size = (sizeof *block->ucontext + 63) & ~(size_t)63;
    block->ucontext = aligned_alloc(64, size);
    if (!block->ucontext)
        return FIBERLAB_NO_MEMORY;
    memset(block->ucontext, 0, size); /* sanitizers look for its stack before it has one */
    return FIBERLAB_OK;
}

/* Frees what a block that is not running owns besides itself. */
void fiberlab_block_free(fiberlab_fiber *block) {
    free(block->ucontext);
    block->ucontext = NULL;
}

/* Names the fiber for the overflow report; what does not fit is cut off. */
void fiberlab_block_name(fiberlab_fiber *block, const char *name, size_t length) {
    if (length >= sizeof block->name)
        length = sizeof block->name - 1;
    if (length)
        memcpy(block->name, name, length);
    block->name[length] = 0;
}

/* Sets the body, a void (*)(void *), or NULL for a Go body. */
void fiberlab_block_body(fiberlab_fiber *block, void *body, void *argument) {
    block->body = (void (*)(void *))body;
    block->argument = argument;
}
