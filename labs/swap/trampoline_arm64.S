/* The first entry of a fiber on arm64. A swap has led here with
 *
 *     sp = top, a multiple of 16      x29 = 0     x19 = target     x20 = arg
 */
    .text
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, %function
marl_fiber_trampoline:
    .cfi_startproc
    .cfi_undefined x30                  /* nothing has called this: unwinders stop here */
    mov     x0, x20
    blr     x19
    bl      marl_fiber_returned
    .cfi_endproc
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

/* Without this note the linker makes every stack of the program executable. */
    .section .note.GNU-stack, "", %progbits
