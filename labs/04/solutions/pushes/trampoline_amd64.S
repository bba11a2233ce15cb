/* rsp = top - 16: target lies there, arg above it. There is no call: target is entered by a ret. */
    .text
    .globl  marl_fiber_trampoline
    .type   marl_fiber_trampoline, @function
marl_fiber_trampoline:
    .cfi_startproc
    .cfi_undefined %rip
    popq    %rax                        /* target */
    popq    %rdi                        /* arg; now rsp = top */
    leaq    back(%rip), %rdx
    pushq   %rdx                        /* where target returns to */
    pushq   %rax
    ret
    nop                                 /* an unwinder looks at the byte before back */
back:
    call    marl_fiber_returned
    .cfi_endproc
    .size   marl_fiber_trampoline, . - marl_fiber_trampoline

    .section .note.GNU-stack, "", @progbits
