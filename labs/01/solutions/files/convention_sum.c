/* Lab 1 in several files: the sum as a recursion. Each call keeps one value, and leaves the others
 * to the next. */
#include "convention.h"

long lab_sum_over(long (*function)(long), const long *values, long count) {
    if (count == 0) {
        return 0;
    }
    unsigned long first = (unsigned long)function(*values);
    return (long)(first + (unsigned long)lab_sum_over(function, values + 1, count - 1));
}
