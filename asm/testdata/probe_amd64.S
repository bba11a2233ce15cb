/* The parts of the prober that must name registers, on amd64. */
#include "prober.h"

#define CONTROL (8 * CALLEE_SAVED)

    .text

/* void probe_call(in, out, swap, from, to), in rdi, rsi, rdx, rcx, r8. */
    .globl  probe_call
    .type   probe_call, @function
probe_call:
    .cfi_startproc
    endbr64
    pushq   %rbx
    pushq   %rbp
    pushq   %r12
    pushq   %r13
    pushq   %r14
    pushq   %r15
    pushq   %rsi
    subq    $16, %rsp
    .cfi_def_cfa_offset 80
    stmxcsr (%rsp)
    fnstcw  8(%rsp)

    movq    0(%rdi), %rbx
    movq    8(%rdi), %rbp
    movq    16(%rdi), %r12
    movq    24(%rdi), %r13
    movq    32(%rdi), %r14
    movq    40(%rdi), %r15
    ldmxcsr CONTROL(%rdi)
    fldcw   (CONTROL + 8)(%rdi)
    movq    %rdx, %r9
    movq    %rcx, %rdi
    movq    %r8, %rsi
    movq    $-1, %rax
    movq    $-1, %rcx
    movq    $-1, %rdx
    cmpq    %rax, %rax                  /* says equal */
    call    *%r9

    movq    16(%rsp), %rax
    movq    %rbx, 0(%rax)
    movq    %rbp, 8(%rax)
    movq    %r12, 16(%rax)
    movq    %r13, 24(%rax)
    movq    %r14, 32(%rax)
    movq    %r15, 40(%rax)
    movq    $0, CONTROL(%rax)
    movq    $0, (CONTROL + 8)(%rax)
    stmxcsr CONTROL(%rax)
    fnstcw  (CONTROL + 8)(%rax)

    ldmxcsr (%rsp)
    fldcw   8(%rsp)
    addq    $24, %rsp
    popq    %r15
    popq    %r14
    popq    %r13
    popq    %r12
    popq    %rbp
    popq    %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size   probe_call, . - probe_call

    .globl  probe_entry
    .type   probe_entry, @function
probe_entry:
    .cfi_startproc
    endbr64
    leaq    entry_state(%rip), %rax
    movq    %rsp, 0(%rax)
    movq    %rbp, 8(%rax)
    movq    %rdi, 16(%rax)
    stmxcsr 24(%rax)
    fnstcw  32(%rax)
    jmp     after_entry
    .cfi_endproc
    .size   probe_entry, . - probe_entry

#if defined(__CET__) && (__CET__ & 1)
    .section .note.gnu.property, "a", @note
    .p2align 3
    .long   4, 16, 5
    .asciz  "GNU"
    .long   0xc0000002, 4, 1, 0
#endif
    .section .note.GNU-stack, "", @progbits
