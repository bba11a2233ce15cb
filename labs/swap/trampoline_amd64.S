/* The first entry of a fiber on amd64. A swap has led here with
 *
 *     rsp = top, a multiple of 16     rbp = 0     r12 = target     r13 = arg
 */
    .text
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, @function
marl_fiber_trampoline:
    .cfi_startproc
    .cfi_undefined %rip                 /* nothing has called this: unwinders stop here */
    movq    %r13, %rdi
    call    *%r12
    call    marl_fiber_returned
    .cfi_endproc
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

/* Without this note the linker makes every stack of the program executable. */
    .section .note.GNU-stack, "", @progbits
