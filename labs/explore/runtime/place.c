/* Places in memory. A word of 8 bytes has a list of the places in it, one for each pair of address
 * and size that the program used; nearly always it is one.
 *
 * Two accesses of different threads to the same bytes race if happens-before does not order them,
 * one of them writes, and they are not both atomic. Each thread's last access is enough: the
 * earlier ones happened before it. */
#include "engine.h"

enum { WORDS = 1 << 16, PLACES = 1 << 16, STORES = 1 << 17 };

struct word {
    uintptr_t key;     /* the address without its low 3 bits */
    uint64_t schedule; /* in which the entry was made: others are empty */
    struct place *first;
};

struct places {
    struct word *word; /* a hash table with linear probing */
    struct place *place;
    struct store *store;
    unsigned words, places, stores; /* in use */
};

static struct places *tables;

void places_map(void) {
    tables = map_memory(sizeof *tables);
    tables->word = map_memory(WORDS * sizeof *tables->word);
    tables->place = map_memory(PLACES * sizeof *tables->place);
    tables->store = map_memory(STORES * sizeof *tables->store);
}

void places_clear(void) {
    tables->words = tables->places = tables->stores = 0;
}

static _Noreturn void too_large(const char *what) {
    report_fault(FAULT_LIMIT, "", "The program uses too many %s: make the test smaller.", what);
}

PART struct word *word_of(uintptr_t address) {
    uintptr_t key = address >> 3;
    size_t i = (key * 0x9e3779b97f4a7c15u) >> 48 & (WORDS - 1);

    for (;; i = (i + 1) & (WORDS - 1)) {
        struct word *w = &tables->word[i];

        if (w->schedule != engine->schedule) {
            if (++tables->words > WORDS / 2)
                too_large("words of memory");
            *w = (struct word){.key = key, .schedule = engine->schedule};
            return w;
        }
        if (w->key == key)
            return w;
    }
}

PART struct place *place_in(struct word *w, uintptr_t address, size_t size) {
    for (struct place *p = w->first; p; p = p->next)
        if (p->address == address && p->size == size)
            return p;
    if (tables->places == PLACES)
        too_large("objects in memory");

    struct place *p = &tables->place[tables->places++];

    p->plain_read = p->plain_write = p->atomic_read = p->atomic_write = p->cause = (vclock){0};
    p->view.hb = p->view.co = (vclock){0};
    p->address = address;
    p->stores = p->capacity = 0;
    p->size = (uint8_t)size;
    p->rewritten = p->owner = 0;
    p->next = w->first;
    w->first = p;
    return p;
}

struct place *place_of(uintptr_t address, size_t size) {
    return place_in(word_of(address), address, size);
}

static bool overlap(const struct place *p, uintptr_t address, size_t size) {
    return p->address < address + size && address < p->address + p->size;
}

/* Fails the schedule: an access of t races with one of `accesses`, of which `writes` is a part. */
static _Noreturn void race(const struct thread *t, vclock writes, vclock accesses, bool write,
                           uintptr_t address) {
    bool other_write = any(unordered(t, writes));
    vclock racing = unordered(t, other_write ? writes : accesses);
    unsigned other = 0;

    while (!racing[other])
        other++;
    report_fault(FAULT_RACE, "",
                 "Thread %u %s memory that thread %u %s, and nothing orders the two accesses, which"
                 " are not both atomic (address 0x%lx).",
                 t->number, write ? "writes" : "reads", other, other_write ? "writes" : "reads",
                 (unsigned long)address);
}

static void plain_piece(struct thread *t, uintptr_t address, size_t size, bool write,
                        uintptr_t pc) {
    struct word *w = word_of(address);
    struct place *same = place_in(w, address, size);

    report_step(t, write ? OP_WRITE : OP_READ, NO_ORDER, pc, address, size);
    for (struct place *p = w->first; p; p = p->next) {
        if (p != same && !overlap(p, address, size))
            continue;

        vclock writes = later(p->plain_write, p->atomic_write), accesses = writes;

        if (write)
            accesses = later(accesses, later(p->plain_read, p->atomic_read));
        if (any(unordered(t, accesses)))
            race(t, writes, accesses, write, address);
        if (write && p->stores)
            p->rewritten = t->number + 1;
    }
    /* It counts as a part of the next step, since a release in the last one does not order it. */
    vclock next = (t->view.hb + 1) & ~t->others;

    if (write)
        same->plain_write = later(same->plain_write, next);
    else
        same->plain_read = later(same->plain_read, next);
}

void place_access(uintptr_t address, size_t size, bool write, uintptr_t pc) {
    struct thread *t = engine->current;

    heap_check(address, size, write, pc);
    thread_goes_on();
    while (size) {
        size_t piece = 8 - (address & 7);

        if (piece > size)
            piece = size;
        plain_piece(t, address, piece, write, pc);
        address += piece;
        size -= piece;
    }
}

bool place_shared(uintptr_t address, size_t size) {
    vclock accesses = {0};
    int threads = 0;

    for (struct place *p = word_of(address)->first; p; p = p->next)
        if (overlap(p, address, size))
            accesses |= p->plain_read | p->plain_write | p->atomic_read | p->atomic_write;
    for (int i = 0; i < THREADS; i++)
        threads += accesses[i] != 0;
    return threads > 1;
}

struct store *place_insert(struct place *p, unsigned at) {
    if (p->stores == p->capacity) {
        unsigned capacity = p->capacity ? 2 * p->capacity : 4;

        if (capacity > UINT16_MAX || tables->stores + capacity > STORES)
            too_large("atomic stores");

        struct store *larger = &tables->store[tables->stores];

        tables->stores += capacity;
        for (unsigned i = 0; i < p->stores; i++)
            larger[i] = p->store[i];
        p->store = larger;
        p->capacity = (uint16_t)capacity;
    }
    for (unsigned i = p->stores; i > at; i--)
        p->store[i] = p->store[i - 1];
    p->stores++;
    return &p->store[at];
}

/* Puts the value that memory holds at the end of the order: what a plain write left there. */
static void append_plain(struct place *p, unsigned thread, uint16_t time) {
    struct store *s = place_insert(p, p->stores);

    s->seen = seen_by(thread, time);
    s->view.hb = s->view.co = s->thread_view.hb = s->thread_view.co = (vclock){0};
    s->cause = s->readers = (vclock){0};
    s->value = memory_read(p->address, p->size);
    s->step = -1;
    s->time = time;
    s->thread = (uint8_t)thread;
    s->rmw = false;
}

struct place *place_atomic(struct thread *t, uintptr_t address, size_t size, bool write) {
    struct word *w = word_of(address);
    struct place *p = place_in(w, address, size);

    for (struct place *other = w->first; other; other = other->next) {
        if (other != p) {
            if (!overlap(other, address, size))
                continue;
            if (any(unordered(t, later(other->atomic_read, other->atomic_write))))
                report_fault(FAULT_LIMIT, "",
                             "Atomic accesses of %u and %u bytes overlap: use one size.",
                             other->size, p->size);
            if (write && other->stores)
                other->rewritten = t->number + 1;
        }

        vclock plain = other->plain_write;

        if (write)
            plain = later(plain, other->plain_read);
        if (any(unordered(t, plain)))
            race(t, other->plain_write, plain, write, address);
    }
    if (p->rewritten) {
        unsigned writer = p->rewritten - 1u;

        append_plain(p, writer, p->plain_write[writer]);
        p->rewritten = 0;
    }
    if (!p->stores)
        append_plain(p, 0, 0);
    return p;
}

uint64_t memory_read(uintptr_t address, size_t size) {
    switch (size) {
    case 1:
        return *(uint8_t *)address;
    case 2:
        return *(uint16_t *)address;
    case 4:
        return *(uint32_t *)address;
    default:
        return *(uint64_t *)address;
    }
}

void memory_write(uintptr_t address, size_t size, uint64_t value) {
    switch (size) {
    case 1:
        *(uint8_t *)address = (uint8_t)value;
        break;
    case 2:
        *(uint16_t *)address = (uint16_t)value;
        break;
    case 4:
        *(uint32_t *)address = (uint32_t)value;
        break;
    default:
        *(uint64_t *)address = value;
    }
}
