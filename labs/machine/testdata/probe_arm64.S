/* A program without a C library. Each global name is one thing for a test to run. */
    .text
    .globl _start
_start:
    nop
    b still

    .globl still
still:
    b still

    .globl leave
leave:
    mov x8, #93
    mov x0, #7
    .globl leave_call
leave_call:
    svc #0
    .size leave, . - leave

    .globl add
    .type add, %function
add:
    add x0, x0, x1
    ret
    .size add, . - add

    .globl identity
identity:
    mov x8, #172
    .globl identity_call
identity_call:
    svc #0
    .globl identity_after
identity_after:
    nop
    nop
    b still

    .globl touch
touch:
    ldr x0, [x0]
    b still

    .globl trap
trap:
    brk #0
    .globl after_trap
after_trap:
    b still

    .globl print
print:
    mov x8, #64
    mov x0, #1
    adr x1, text
    mov x2, #6
    svc #0
    b print

    .globl signal_self
signal_self:
    mov x8, #172
    svc #0
    mov x1, #10
    mov x8, #129
    .globl signal_self_call
signal_self_call:
    svc #0
    .globl signal_self_after
signal_self_after:
    nop
    b still

    .globl handle
handle:
    mov x8, #134
    mov x0, #10
    adr x1, action
    mov x2, #0
    mov x3, #8
    svc #0
    .globl handled
handled:
    b still

    .globl deaf
deaf:
    mov x8, #135
    mov x0, #2
    adr x1, everything
    mov x2, #0
    mov x3, #8
    svc #0
    b still

    .globl insist
insist:
    mov x8, #135
    mov x0, #2
    adr x1, everything
    mov x2, #0
    mov x3, #8
    svc #0
    mov x8, #172
    svc #0
    mov x19, x0
1:  mov x8, #129
    mov x0, x19
    mov x1, #18
    svc #0
    b 1b

    .globl hear
hear:
    mov x8, #135
    mov x0, #2
    adr x1, nothing
    mov x2, #0
    mov x3, #8
    svc #0
    b still

    .globl guard
guard:
    mov x8, #222
    mov x0, #0
    mov x1, #12288
    mov x2, #3
    mov x3, #0x22
    mov x4, #-1
    mov x5, #0
    svc #0
    mov x19, x0
    mov x8, #226
    mov x1, #4096
    mov x2, #0
    svc #0
    mov x0, x19
    b still

    .globl push
push:
    stp x29, x30, [sp, #-16]!
    b still

    .globl wait
wait:
    mov x8, #73
    mov x0, #0
    mov x1, #0
    mov x2, #0
    mov x3, #0
    .globl wait_call
wait_call:
    svc #0
    b still

    .globl handler
handler:
    nop
    ret

text:
    .ascii "hello\n"
    .balign 8
everything:
    .quad -1
nothing:
    .quad 0
    .data
    .balign 8
action:
    .quad handler, 0, 0, 0
    .globl buffer
buffer:
    .skip 64
    .section .note.GNU-stack, "", %progbits
