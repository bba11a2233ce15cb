/* What report.c offers: a schedule is recorded step by step, and printed. Part of engine.h. */
#ifndef REPORT_H
#define REPORT_H

OWN void report_recorded(const struct thread *t, enum operation operation, int order, uintptr_t pc,
                         uintptr_t address, size_t size);
OWN void report_recorded_value(uint64_t value, int32_t from, bool stale);
OWN void report_recorded_stored(uint64_t value);
OWN void report_recorded_note(const char *note);

/* A function begins at pc, or ends, whose frame has that address. */
OWN void report_entered(uintptr_t frame, uintptr_t caller, uintptr_t pc);
OWN void report_returned(uintptr_t frame);

/* Counts a step of thread t, and records it if a report is wanted. */
static inline void report_step(const struct thread *t, enum operation operation, int order,
                               uintptr_t pc, uintptr_t address, size_t size) {
    if (engine->recorded)
        report_recorded(t, operation, order, pc, address, size);
    else
        engine->steps++;
}

/* Adds to the step just counted what it read, or stored. */
static inline void report_value(uint64_t value, int32_t from, bool stale) {
    if (engine->recorded)
        report_recorded_value(value, from, stale);
}

static inline void report_stored(uint64_t value) {
    if (engine->recorded)
        report_recorded_stored(value);
}

static inline void report_note(const char *note) {
    if (engine->recorded && note)
        report_recorded_note(note);
}

/* Notes the fault of the schedule and ends it. Called on a fiber. */
OWN _Noreturn void report_fault(enum fault_kind kind, const char *claim, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For main.c and follow.c. */

/* Records the steps of the schedule that follows; calls: and in which functions they are. */
OWN void report_record(bool calls);
/* Prints the fault, the schedule and the steps of the schedule that ran last, which was recorded:
 * the fields of the result from ,"fault" on. After its first `decided` decisions every schedule
 * fails, and not after fewer; -1: that is not known. */
OWN void report_failure(int64_t decided);
/* Prints the kind of the fault, or "", and all steps of that schedule. */
OWN void report_all(void);
/* Prints that schedule as text. */
OWN void report_schedule(void);

#endif
