/* The runtime as it is compiled: all its files at once. So calls between them are inlined, which
 * makes schedules faster by a tenth, and their names are free for the program. */
#define RUNTIME

#include "follow.c"
#include "globals.c"
#include "heap.c"
#include "items.c"
#include "main.c"
#include "model.c"
#include "place.c"
#include "report.c"
#include "schedule.c"
#include "search.c"
#include "signals.c"
#include "sync.c"
#include "thread.c"
#include "tsan.c"
