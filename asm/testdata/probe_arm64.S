/* The parts of the prober that must name registers, on arm64. */
#include "prober.h"

#define CONTROL (8 * CALLEE_SAVED)
#define BTI_C hint #34

    .text

/* void probe_call(in, out, swap, from, to), in x0 to x4. */
    .globl  probe_call
    .type   probe_call, %function
probe_call:
    .cfi_startproc
    BTI_C
    stp     x29, x30, [sp, #-192]!
    .cfi_def_cfa_offset 192
    .cfi_offset x29, -192
    .cfi_offset x30, -184
    stp     x19, x20, [sp, #16]
    stp     x21, x22, [sp, #32]
    stp     x23, x24, [sp, #48]
    stp     x25, x26, [sp, #64]
    stp     x27, x28, [sp, #80]
    stp     d8, d9, [sp, #96]
    stp     d10, d11, [sp, #112]
    stp     d12, d13, [sp, #128]
    stp     d14, d15, [sp, #144]
    mrs     x9, fpcr
    stp     x1, x9, [sp, #160]

    ldp     x19, x20, [x0, #0]
    ldp     x21, x22, [x0, #16]
    ldp     x23, x24, [x0, #32]
    ldp     x25, x26, [x0, #48]
    ldp     x27, x28, [x0, #64]
    ldr     x29, [x0, #80]
    ldp     d8, d9, [x0, #88]
    ldp     d10, d11, [x0, #104]
    ldp     d12, d13, [x0, #120]
    ldp     d14, d15, [x0, #136]
    ldr     x9, [x0, #CONTROL]
    msr     fpcr, x9
    mov     x16, x2
    mov     x0, x3
    mov     x1, x4
    mov     x9, #-1
    mov     x10, #-1
    cmp     x9, x9                      /* says equal */
    blr     x16

    ldp     x0, x10, [sp, #160]
    stp     x19, x20, [x0, #0]
    stp     x21, x22, [x0, #16]
    stp     x23, x24, [x0, #32]
    stp     x25, x26, [x0, #48]
    stp     x27, x28, [x0, #64]
    str     x29, [x0, #80]
    stp     d8, d9, [x0, #88]
    stp     d10, d11, [x0, #104]
    stp     d12, d13, [x0, #120]
    stp     d14, d15, [x0, #136]
    mrs     x9, fpcr
    str     x9, [x0, #CONTROL]
    msr     fpcr, x10

    ldp     x19, x20, [sp, #16]
    ldp     x21, x22, [sp, #32]
    ldp     x23, x24, [sp, #48]
    ldp     x25, x26, [sp, #64]
    ldp     x27, x28, [sp, #80]
    ldp     d8, d9, [sp, #96]
    ldp     d10, d11, [sp, #112]
    ldp     d12, d13, [sp, #128]
    ldp     d14, d15, [sp, #144]
    ldp     x29, x30, [sp], #192
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size   probe_call, . - probe_call

    .globl  probe_entry
    .type   probe_entry, %function
probe_entry:
    .cfi_startproc
    BTI_C
    adrp    x9, entry_state
    add     x9, x9, :lo12:entry_state
    mov     x10, sp
    mrs     x11, fpcr
    stp     x10, x29, [x9]
    stp     x0, x11, [x9, #16]
    b       after_entry
    .cfi_endproc
    .size   probe_entry, . - probe_entry

#ifdef __ARM_FEATURE_BTI_DEFAULT
    .section .note.gnu.property, "a", %note
    .p2align 3
    .long   4, 16, 5
    .asciz  "GNU"
    .long   0xc0000000, 4, 1, 0
#endif
    .section .note.GNU-stack, "", %progbits
