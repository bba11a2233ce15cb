/* Scripts: schedules that another program has drawn and run (package verify), and that it compares
 * with what happens here. A schedule names alternatives by numbers that only the search knows. A
 * script has for each choice of a thread, in order,
 *
 *     0 to 6      the thread that goes on,
 *     a to y      and, if it follows: alternative 1 to 25 of the value that this step reads
 *     z           or the last alternative
 *     A to Z      for each choice of the program that follows: alternative 0 to 25
 *
 * so it does not depend on what the search would have tried. Threads do not give way by themselves
 * when they spin. */
#include "engine.h"

#include <stdio.h>

static _Noreturn void refused(const char *why) {
    report_fault(FAULT_LIMIT, "", "The script cannot be followed: %s.", why);
}

struct thread *follow_thread(void) {
    unsigned n = (unsigned)*engine->script - '0';

    if (!*engine->script)
        refused("the program goes on after its end");
    engine->script++;
    engine->scripted_value = 0;
    if (*engine->script == 'z')
        engine->scripted_value = -1;
    else if (*engine->script >= 'a')
        engine->scripted_value = *engine->script - 'a' + 1;
    if (*engine->script >= 'a')
        engine->script++;
    if (n >= engine->threads || thread_readiness(&engine->thread[n]) == BLOCKED)
        refused("it lets a thread go on that cannot");
    return &engine->thread[n];
}

unsigned follow_value(unsigned n) {
    unsigned chosen = engine->scripted_value < 0 ? n - 1 : (unsigned)engine->scripted_value;

    if (chosen >= n)
        refused("a load reads what it may not");
    return chosen;
}

unsigned follow_choice(unsigned n) {
    unsigned chosen = (unsigned)*engine->script - 'A';

    if (chosen >= n)
        refused("the program chooses what it may not");
    engine->script++;
    return chosen;
}

void follow_report(void) {
    printf("\n{\"followed\":{\"kept\":%s,\"schedule\":\"", *engine->script ? "false" : "true");
    report_schedule();
    printf("\",");
    report_all();
    printf("}}\n");
    fflush(stdout); /* in a static program, the next schedule would forget what is kept */
}
