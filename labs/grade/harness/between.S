/* The linker puts this behind each object of a submission. Code that runs on past its end traps here,
 * and does not come by chance into the next function. */
    .text
    .rept   16
#if defined(__x86_64__)
    ud2
#elif defined(__aarch64__)
    udf     #0
#endif
    .endr

    .section .note.GNU-stack, "", %progbits
