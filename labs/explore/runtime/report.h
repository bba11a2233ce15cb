/* What main.c prints with. */
#ifndef REPORT_H
#define REPORT_H

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
