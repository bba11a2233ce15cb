/* What main.c prints with. */
#ifndef REPORT_H
#define REPORT_H

/* Records the steps of the schedule that follows. */
void report_record(void);
/* Prints the fault, the schedule and the steps of the schedule that ran last, which was recorded:
 * the fields of the result from ,"fault" on. */
void report_failure(void);

#endif
