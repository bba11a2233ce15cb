/* malloc and free of the program: blocks are cut off one region and never used again within a
 * schedule, so that an access to a freed block is seen. The next schedule starts with an empty
 * region. */
#include "engine.h"

enum { UNIT = 16, UNITS = HEAP_REGION / UNIT };

struct block {
    size_t size;
    uint32_t number; /* of the allocation */
    bool freed;
};

struct heap {
    char *region;
    uint32_t blocks;
    uint32_t used;        /* units */
    struct block *block;  /* by its first unit */
    uint32_t *first_unit; /* of the block that a unit belongs to; 0 for none */
};

static struct heap *heap;

void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memset(void *to, int byte, size_t size);

#define PC ((uintptr_t)__builtin_return_address(0))

void heap_map(void) {
    heap = map_memory(sizeof *heap);
    heap->region = (char *)engine + RUNTIME_REGION;
    engine->heap = (uintptr_t)heap->region;
    heap->block = map_memory(UNITS * sizeof *heap->block);
    heap->first_unit = map_memory(UNITS * sizeof *heap->first_unit);
    heap->used = 1;
}

void heap_clear(void) {
    heap->used = 1;
    heap->blocks = 0;
}

static void *allocate(size_t size, size_t alignment, int fill) {
    if (!heap)
        main_misused("a constructor calls malloc: let explore_test do that");

    size_t step = alignment > UNIT ? alignment / UNIT : 1;
    size_t first = (heap->used + step) / step * step; /* at least one unit is between blocks */
    size_t units = size ? (size + UNIT - 1) / UNIT : 1;

    if (size > HEAP_REGION || first + units >= UNITS)
        report_fault(FAULT_LIMIT, "", "The program allocates more than %d bytes a schedule.",
                     HEAP_REGION);
    for (size_t u = heap->used; u < first; u++)
        heap->first_unit[u] = 0;
    for (size_t u = first; u < first + units; u++)
        heap->first_unit[u] = (uint32_t)first;
    heap->used = (uint32_t)(first + units);
    heap->block[first] = (struct block){.size = size, .number = ++heap->blocks};

    char *p = heap->region + first * UNIT;

    /* The same bytes in each schedule, and not zero: a read of what was never written shows. */
    __real_memset(p, fill, size);
    return p;
}

/* The block at an address within the region, or null. */
static struct block *block_at(uintptr_t address, uintptr_t *start) {
    size_t unit = (address - (uintptr_t)heap->region) / UNIT;
    uint32_t first = unit < heap->used ? heap->first_unit[unit] : 0;

    *start = (uintptr_t)heap->region + (uintptr_t)first * UNIT;
    return first ? &heap->block[first] : NULL;
}

unsigned heap_block(uintptr_t address, size_t *offset) {
    uintptr_t start;
    const struct block *b = heap_has(address) ? block_at(address, &start) : NULL;

    if (!b)
        return 0;
    *offset = address - start;
    return b->number;
}

void heap_checked(uintptr_t address, size_t size, bool write, uintptr_t pc) {
    uintptr_t start;
    struct block *b = block_at(address, &start);

    if (b && !b->freed && address + size <= start + b->size)
        return;
    report_step(engine->current, write ? OP_WRITE : OP_READ, NO_ORDER, pc, address, size);
    if (b && b->freed)
        report_fault(FAULT_USE_AFTER_FREE, "",
                     "Thread %u %s memory that was freed: byte %lu of a block of %lu.",
                     engine->current->number, write ? "writes" : "reads",
                     (unsigned long)(address - start), (unsigned long)b->size);
    report_fault(FAULT_CRASH, "",
                 "Thread %u %s memory that is neither a variable nor a block from malloc.",
                 engine->current->number, write ? "writes" : "reads");
}

void *__wrap_malloc(size_t size) {
    return allocate(size, UNIT, 0xa5);
}

void *__wrap_calloc(size_t count, size_t size) {
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return allocate(bytes, UNIT, 0);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    if (!alignment || (alignment & (alignment - 1)) || alignment > 4096)
        return NULL;
    return allocate(size, alignment, 0xa5);
}

static void release(void *p, uintptr_t pc) {
    struct thread *t = engine->current;
    uintptr_t start, address = (uintptr_t)p;

    if (!p)
        return;

    struct block *b = NULL;

    if (heap_has(address))
        b = block_at(address, &start);
    if (!b || start != address) {
        report_step(t, OP_FREE, NO_ORDER, pc, address, 0);
        report_fault(FAULT_CRASH, "", "Thread %u frees what malloc did not return.", t->number);
    }
    if (b->freed) {
        report_step(t, OP_FREE, NO_ORDER, pc, address, b->size);
        report_fault(FAULT_DOUBLE_FREE, "", "Thread %u frees memory that was freed already.",
                     t->number);
    }
    /* An access to the block that is not ordered before this races with it. */
    place_access(address, b->size, true, pc);
    report_step(t, OP_FREE, NO_ORDER, pc, address, b->size);
    b->freed = true;
}

void __wrap_free(void *p) {
    if (engine->current)
        release(p, PC);
}

void *__wrap_realloc(void *p, size_t size) {
    uintptr_t start;

    if (!p)
        return allocate(size, UNIT, 0xa5);

    struct block *b = heap_has((uintptr_t)p) ? block_at((uintptr_t)p, &start) : NULL;

    if (!b || b->freed || start != (uintptr_t)p)
        release(p, PC); /* which is the fault */

    void *larger = allocate(size, UNIT, 0xa5);
    size_t kept = b->size < size ? b->size : size;

    place_access((uintptr_t)p, kept, false, PC);
    place_access((uintptr_t)larger, kept, true, PC);
    __real_memcpy(larger, p, kept);
    release(p, PC);
    return larger;
}
