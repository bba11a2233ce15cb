/* The control block of a fiber, the record of a thread, and the functions that
 * the Go files of this package call. Not for bodies: they include fiberlab.h. */
#ifndef FIBERLAB_CORE_H
#define FIBERLAB_CORE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* Where this is 0, fibers are not switched by hand: musl has no swapcontext. */
#ifdef __GLIBC__
#define FIBERLAB_HAS_GLIBC 1
#else
#define FIBERLAB_HAS_GLIBC 0
#endif

/* For other processors there is no assembly: their fibers switch by the C library alone. */
#if defined(__x86_64__) || defined(__aarch64__)
#define FIBERLAB_HAS_ASM
#include "../asm/context.h"
#endif
#include "fiberlab.h"

struct ucontext_fiber_context;

/* A fiber's state shares a word with its generation: state | generation << 3.
 * A control block outlives the fibers that use it, one after the other; the
 * generation tells a late switch that its fiber is gone. The word changes hands
 * by compare-and-swap only. */
enum fiberlab_state {
    FIBERLAB_STATE_CLOSED,
    FIBERLAB_STATE_READY,
    FIBERLAB_STATE_RUNNING,
    FIBERLAB_STATE_SUSPENDED,
    FIBERLAB_STATE_FINISHED,
};
#define FIBERLAB_STATE_MASK ((uint64_t)7)
#define FIBERLAB_GENERATION ((uint64_t)8)

enum fiberlab_mechanism { FIBERLAB_BY_ASM, FIBERLAB_BY_UCONTEXT };

/* Go's request for a switch. It lies in the control block, because memory that C
 * uses while the caller is suspended must not be a Go stack. */
struct fiberlab_call {
    fiberlab_fiber *from, *to;
    uint64_t expect; /* the generation of to, shifted; checked */
    uint32_t ending; /* from is to be Finished, not Suspended */
    int32_t error;   /* answer: a fiberlab_error */
};

/* The C++ runtime's record of a thread's exceptions: __cxa_eh_globals in the C++ ABI. */
struct fiberlab_exceptions {
    void *caught;      /* by catch clauses that have not ended, the latest first */
    unsigned uncaught; /* number of exceptions thrown and not caught yet */
};

struct fiberlab_fiber {
#ifdef FIBERLAB_HAS_ASM
    struct marl_fiber_context context;
#endif
    uint64_t state;
    uintptr_t g;          /* the g slot while the fiber is not running; 0: no identity yet */
    uint32_t index;       /* the Go side's number for this block; never 0 */
    uint32_t preemptions; /* fiberlab_preemptions when the fiber left */
    int32_t tid;          /* the number of its thread, as the lent M has it */
    uint64_t *m;          /* the word in which the M has it; NULL: not known, or a root */
    uintptr_t go_m;       /* the M of a Go body or of a root; 0: not known */
    uintptr_t go_g;       /* and its goroutine */
    uintptr_t *p;         /* the word in which the M remembers its P; NULL: not known, or no M */
    uint8_t own;          /* the enum fiberlab_mechanism that saves the context; a root has none */
    uint8_t saved;        /* the mechanism that saved it last, and must resume it */
    uint8_t root;         /* the fiber is a root: its stack is the thread's */
    uint8_t gone;         /* the fiber leaves its stack for good */
    void *fake_stack;     /* announce.h: the sanitizer's, while the fiber is not running */
    struct fiberlab_exceptions exceptions; /* while the fiber is not running */
    struct fiberlab_call call;
    struct ucontext_fiber_context *ucontext;
    void *scratch;        /* a root's: FIBERLAB_SCRATCH bytes on which bridge.c runs setcontext */
    void (*body)(void *); /* NULL: a Go body */
    void *argument;
    uintptr_t stack_lo, stack_hi, guard_lo, guard_hi;
    char name[48]; /* for the reports of overflow.c, which may not touch Go memory */
};

/* A thread's record of its fibers. Go assembly reads current_index and root_index at
 * their offsets from the thread pointer. */
struct fiberlab_thread {
    fiberlab_fiber *current, *root;
    uintptr_t current_index, root_index;
    fiberlab_fiber *departed; /* left by the last switch, not yet published */
    uint64_t departed_state;  /* the state's word to publish it with */
    uintptr_t p;              /* the P with which a fiber left last; 0: not known */
    int32_t tid;              /* the kernel's number for it; 0: not asked for so far */
    int32_t has_key;          /* C made the thread, so the runtime's thread key names its g */
    struct fiberlab_exceptions *exceptions; /* the thread's; NULL without a C++ runtime */
};
enum { FIBERLAB_SCRATCH = 16384 };

/* The thread pointer, from which static thread-local storage is addressed. */
static inline char *fiberlab_tp(void) {
    char *tp;
#if defined(__x86_64__)
    __asm__ volatile("movq %%fs:0, %0" : "=r"(tp));
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(tp));
#elif defined(__riscv)
    __asm__ volatile("mv %0, tp" : "=r"(tp));
#elif defined(__powerpc64__)
    __asm__ volatile("mr %0, 13" : "=r"(tp));
#else
    tp = __builtin_thread_pointer(); /* package identity knows no slot here, so no fiber switches */
#endif
    return tp;
}

/* The record of the calling thread. Call it again after every switch: the caller may have moved to
 * another thread. It asks for the thread pointer each time, where a compiler would keep the address
 * of a thread-local variable over a switch. */
extern ptrdiff_t fiberlab_thread_offset;
static inline struct fiberlab_thread *fiberlab_thread_self(void) {
    return (struct fiberlab_thread *)(fiberlab_tp() + fiberlab_thread_offset);
}

/* thread.c */
int fiberlab_attach(fiberlab_fiber *root, uintptr_t m, uintptr_t g);
int fiberlab_detach(fiberlab_fiber *root);
int fiberlab_untie(fiberlab_fiber *root);
int fiberlab_tie(fiberlab_fiber *root, uintptr_t m);
ptrdiff_t fiberlab_current_index_offset(void);
ptrdiff_t fiberlab_root_index_offset(void);

/* block.c */
void fiberlab_block_free(fiberlab_fiber *block);
void fiberlab_block_name(fiberlab_fiber *block, const char *name, size_t length);
void fiberlab_block_body(fiberlab_fiber *block, void *body, void *argument);
int fiberlab_block_reserve(fiberlab_fiber *block);
int fiberlab_block_aim(fiberlab_fiber *block, int mechanism, uintptr_t stack_lo, uintptr_t top);

/* slab.c */
void *fiberlab_slab_new(size_t size);
void fiberlab_slab_release(void *slab, size_t size);
int fiberlab_heap_release(void);

/* switch.c */
void fiberlab_switch_call(struct fiberlab_call *call);

/* slot.c */
extern ptrdiff_t fiberlab_slot_offset;
int fiberlab_find_slot(uintptr_t (*reader)(void));
int fiberlab_verify_slot(uintptr_t (*reader)(void));
uintptr_t fiberlab_thread_pointer(void);

/* identity.c */
int fiberlab_identity_block_signals(void);
void fiberlab_identity_drop(void);
int fiberlab_identity_has_key(void);
void fiberlab_bind(void *g);
extern uint64_t fiberlab_binds;
void fiberlab_stack_bound(uintptr_t bounds[2]);
extern uint64_t fiberlab_stack_bound_answers;

/* handler.c */
int fiberlab_watch(int sig, void (*handler)(int, siginfo_t *, void *), struct sigaction *go);
void fiberlab_pass_on(const struct sigaction *go, int sig, siginfo_t *info, void *context);

/* overflow.c */
int fiberlab_watch_overflow(void);

/* profile_timers.c */
void fiberlab_count_lent(int n);
int64_t fiberlab_dropped(void);
int fiberlab_profiling(void);
void fiberlab_lend_all(void *count);

/* quit.c */
int fiberlab_watch_quit(void);
void fiberlab_pass_on_fatal(const struct sigaction *go, int sig, siginfo_t *info, void *context);

/* giveback.c */
void fiberlab_give_back(uintptr_t m, uintptr_t g);

/* dump.c: what the dump of goroutines says of a fiber's goroutine. */
struct fiberlab_entry {
    const uint64_t *state; /* the word of the fiber's state; NULL: no fiber */
    uint64_t goroutine;    /* its number; 0: not known */
    const char *task;      /* the name of its task; NULL: not known */
    char name[64];
};
int fiberlab_add_entries(const struct fiberlab_entry *first, size_t count);
int fiberlab_watch_dump(void);

/* preempt.c */
extern uint32_t fiberlab_preemptions;
int fiberlab_watch_preemption(void);
int fiberlab_narrow_tid(uintptr_t m);
void fiberlab_find_mark(uintptr_t m);
void fiberlab_verify_mark(uintptr_t m);
uint32_t *fiberlab_mark(uintptr_t m);
const uint32_t *fiberlab_requests_met(uintptr_t m);
void fiberlab_lending(fiberlab_fiber *f, uintptr_t m);
void fiberlab_lent(fiberlab_fiber *f, uintptr_t m, uintptr_t g);
void fiberlab_back(fiberlab_fiber *f);

/* processor.c */
enum { FIBERLAB_SEARCHED_M = 64, FIBERLAB_SEARCHED_G = 32, FIBERLAB_SEARCHED_P = 16 };
int fiberlab_find_p(uintptr_t m, const uintptr_t then[FIBERLAB_SEARCHED_M]);
int fiberlab_verify_p(uintptr_t m, const uintptr_t then[FIBERLAB_SEARCHED_M]);
void fiberlab_use_p(int use);
uintptr_t fiberlab_m(void);
uintptr_t *fiberlab_p(void);

/* handover.c: an M and the goroutine on it, and their first words as they were while Go ran. */
struct fiberlab_words {
    uintptr_t m, g;
    uintptr_t of_m[FIBERLAB_SEARCHED_M], of_g[FIBERLAB_SEARCHED_G];
};
int fiberlab_find_handover(const struct fiberlab_words *then);
int fiberlab_verify_handover(const struct fiberlab_words *then);
void fiberlab_use_handover(int use);
void fiberlab_hand_over(const fiberlab_fiber *from, const fiberlab_fiber *to);

/* fpu.c */
void fiberlab_default_fp(void);

/* exceptions.c */
void fiberlab_find_exceptions(void);
struct fiberlab_exceptions *fiberlab_thread_exceptions(void);

/* bridge.c */
void fiberlab_swap_by_library(fiberlab_fiber *from, fiberlab_fiber *to);
uintptr_t fiberlab_saved_sp(const ucontext_t *uc);
uintptr_t fiberlab_block_sp(const fiberlab_fiber *block);

/* marl_fiber_swap_fp for callers that are deep in calls: balance_amd64.S. It has not been measured
 * on other architectures, and debug builds need a switch that checks (asm/check.h). */
#if defined(__x86_64__) && !defined(MARL_DEBUG)
void fiberlab_swap_balanced(struct marl_fiber_context *from, const struct marl_fiber_context *to);
#else
#define fiberlab_swap_balanced marl_fiber_swap_fp
#endif

/* The calling thread's g slot. */
static inline volatile uintptr_t *fiberlab_slot(void) {
    return (volatile uintptr_t *)(fiberlab_tp() + fiberlab_slot_offset);
}

#endif
