/* What the compiler calls with -fsanitize=thread: one function for each atomic access, fence and
 * plain access to memory that may be shared. With -fsanitize-coverage=trace-pc it calls one behind
 * each branch, too. gcc and clang agree on most names. */
#include "engine.h"

#define PC ((uintptr_t)__builtin_return_address(0))

void __tsan_init(void) {}

#define FRAME ((uintptr_t)__builtin_frame_address(0))

void __tsan_func_entry(void *caller) {
    if (engine->calls && engine->current)
        report_entered(FRAME, (uintptr_t)caller, PC);
}

void __tsan_func_exit(void) {
    if (engine->calls && engine->current)
        report_returned(FRAME);
}

/* A part of the program begins that has no branch in it. */
void __sanitizer_cov_trace_pc(void) {
    if (engine->current)
        thread_goes_on();
}

/* Plain accesses. */

static inline void plain(const volatile void *address, size_t size, bool write, uintptr_t pc) {
    if (engine->current)
        place_access((uintptr_t)address, size, write, pc);
}

#define PLAIN(size)                                                                                \
    void __tsan_read##size(void *a) {                                                              \
        plain(a, size, false, PC);                                                                 \
    }                                                                                              \
    void __tsan_write##size(void *a) {                                                             \
        plain(a, size, true, PC);                                                                  \
    }                                                                                              \
    void __tsan_read_write##size(void *a) {                                                        \
        plain(a, size, false, PC);                                                                 \
        plain(a, size, true, PC);                                                                  \
    }                                                                                              \
    void __tsan_volatile_read##size(void *a) {                                                     \
        plain(a, size, false, PC);                                                                 \
    }                                                                                              \
    void __tsan_volatile_write##size(void *a) {                                                    \
        plain(a, size, true, PC);                                                                  \
    }                                                                                              \
    void __tsan_unaligned_read##size(void *a) {                                                    \
        plain(a, size, false, PC);                                                                 \
    }                                                                                              \
    void __tsan_unaligned_write##size(void *a) {                                                   \
        plain(a, size, true, PC);                                                                  \
    }                                                                                              \
    void __tsan_unaligned_read_write##size(void *a) {                                              \
        plain(a, size, false, PC);                                                                 \
        plain(a, size, true, PC);                                                                  \
    }                                                                                              \
    void __tsan_unaligned_volatile_read##size(void *a) {                                           \
        plain(a, size, false, PC);                                                                 \
    }                                                                                              \
    void __tsan_unaligned_volatile_write##size(void *a) {                                          \
        plain(a, size, true, PC);                                                                  \
    }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *a, size_t size) {
    plain(a, size, false, PC);
}

void __tsan_write_range(void *a, size_t size) {
    plain(a, size, true, PC);
}

/* Calls that access memory: the linker leads them here. */

void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memmove(void *to, const void *from, size_t size);
void *__real_memset(void *to, int byte, size_t size);

extern char __data_start[], _end[];

/* As plain, unless the runtime itself called: its memory is mapped. */
static void called(const void *address, size_t size, bool write, uintptr_t pc) {
    const char *a = address;

    if (engine->current &&
        ((a >= __data_start && a < _end) || heap_has((uintptr_t)a) || threads_have((uintptr_t)a)))
        place_access((uintptr_t)address, size, write, pc);
}

void *__wrap_memcpy(void *to, const void *from, size_t size) {
    called(from, size, false, PC);
    called(to, size, true, PC);
    return __real_memcpy(to, from, size);
}

void *__wrap_memmove(void *to, const void *from, size_t size) {
    called(from, size, false, PC);
    called(to, size, true, PC);
    return __real_memmove(to, from, size);
}

void *__wrap_memset(void *to, int byte, size_t size) {
    called(to, size, true, PC);
    return __real_memset(to, byte, size);
}

/* Newer versions of clang name them so. */
void *__tsan_memcpy(void *to, const void *from, size_t size)
    __attribute__((alias("__wrap_memcpy")));
void *__tsan_memmove(void *to, const void *from, size_t size)
    __attribute__((alias("__wrap_memmove")));
void *__tsan_memset(void *to, int byte, size_t size) __attribute__((alias("__wrap_memset")));

/* Atomic accesses. gcc calls compare_exchange_strong and _weak, clang _val for both. */

#define RMW(bits, name, rmw)                                                                       \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile void *a, uint##bits##_t v, int order) {   \
        return (uint##bits##_t)model_rmw((uintptr_t)a, bits / 8, rmw, v, order, PC);               \
    }

#define CAS(bits, name, weak)                                                                      \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile void *a, uint##bits##_t *expected,  \
                                                      uint##bits##_t desired, int order,           \
                                                      int failure) {                               \
        bool done;                                                                                 \
        uint64_t value = model_cas((uintptr_t)a, bits / 8, *expected, desired, weak, order,        \
                                   failure, PC, &done);                                            \
        if (!done)                                                                                 \
            *expected = (uint##bits##_t)value;                                                     \
        return done;                                                                               \
    }

#define ATOMIC(bits)                                                                               \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile void *a, int order) {                 \
        return (uint##bits##_t)model_load((uintptr_t)a, bits / 8, order, PC);                      \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile void *a, uint##bits##_t v, int order) {              \
        model_store((uintptr_t)a, bits / 8, v, order, PC);                                         \
    }                                                                                              \
    RMW(bits, exchange, RMW_EXCHANGE)                                                              \
    RMW(bits, fetch_add, RMW_ADD)                                                                  \
    RMW(bits, fetch_sub, RMW_SUB)                                                                  \
    RMW(bits, fetch_and, RMW_AND)                                                                  \
    RMW(bits, fetch_or, RMW_OR)                                                                    \
    RMW(bits, fetch_xor, RMW_XOR)                                                                  \
    RMW(bits, fetch_nand, RMW_NAND)                                                                \
    CAS(bits, strong, false)                                                                       \
    CAS(bits, weak, true)                                                                          \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                     \
        volatile void *a, uint##bits##_t expected, uint##bits##_t desired, int order,              \
        int failure) {                                                                             \
        bool done;                                                                                 \
        return (uint##bits##_t)model_cas((uintptr_t)a, bits / 8, expected, desired, false, order,  \
                                         failure, PC, &done);                                      \
    }

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order) {
    model_fence(order, PC);
}

void __tsan_atomic_signal_fence(int order) {
    (void)order;
}
