/* Lab 1 in several files: what C has words for. */
#include "convention.h"

void *lab_return_address(void) {
    return __builtin_return_address(0);
}

/* The caller's frame pointer is saved at the frame address, in the lower half of 16 bytes. Above it
 * lies the return address on amd64, and x30 on arm64. */
void *lab_stack_after_return(void) {
    return (char *)__builtin_frame_address(0) + 16;
}

long lab_tenth(long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, long a9,
               long a10) {
    return a1 - a1 + a2 - a2 + a3 - a3 + a4 - a4 + a5 - a5 + a6 - a6 + a7 - a7 + a8 - a8 + a9 - a9 +
           a10;
}

long lab_call_ten(long (*function)(long, long, long, long, long, long, long, long, long, long),
                  const long *values) {
    long copy[10];
    for (int i = 0; i < 10; i++) {
        copy[i] = values[i];
    }
    return function(copy[0], copy[1], copy[2], copy[3], copy[4], copy[5], copy[6], copy[7], copy[8],
                    copy[9]);
}

void lab_keep_16(lab_stranger_function *stranger, void *address) {
    uint64_t *words = address;
    uint64_t first = words[0], second = words[1];
    stranger();
    words[0] = first;
    words[1] = second;
}
