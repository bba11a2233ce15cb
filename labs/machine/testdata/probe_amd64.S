/* A program without a C library. Each global name is one thing for a test to run. */
    .text
    .globl _start
_start:
    nop
    jmp still

    .globl still
still:
    jmp still

    .globl leave
leave:
    mov $60, %eax
    mov $7, %edi
    .globl leave_call
leave_call:
    syscall
    .size leave, . - leave

    .globl add
    .type add, @function
add:
    lea (%rdi,%rsi), %rax
    ret
    .size add, . - add

    .globl identity
identity:
    mov $39, %eax
    .globl identity_call
identity_call:
    syscall
    .globl identity_after
identity_after:
    nop
    nop
    jmp still

    .globl copy
copy:
    rep movsb
    .globl copied
copied:
    jmp still

    .globl touch
touch:
    mov (%rdi), %rax
    jmp still

    .globl trap
trap:
    int3
    .globl after_trap
after_trap:
    jmp still

    .globl flags
flags:
    pushfq
    pop %rax
    jmp still

    .globl print
print:
    mov $1, %eax
    mov $1, %edi
    lea text(%rip), %rsi
    mov $6, %edx
    syscall
    jmp print

    .globl signal_self
signal_self:
    mov $39, %eax
    syscall
    mov %eax, %edi
    mov $10, %esi
    mov $62, %eax
    .globl signal_self_call
signal_self_call:
    syscall
    .globl signal_self_after
signal_self_after:
    nop
    jmp still

    .globl handle
handle:
    mov $13, %eax
    mov $10, %edi
    lea action(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    .globl handled
handled:
    jmp still

    .globl deaf
deaf:
    mov $14, %eax
    mov $2, %edi
    lea everything(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    jmp still

    .globl insist
insist:
    mov $14, %eax
    mov $2, %edi
    lea everything(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $39, %eax
    syscall
    mov %eax, %ebx
1:  mov $62, %eax
    mov %ebx, %edi
    mov $18, %esi
    syscall
    jmp 1b

    .globl hear
hear:
    mov $14, %eax
    mov $2, %edi
    lea nothing(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    jmp still

    .globl guard
guard:
    mov $9, %eax
    xor %edi, %edi
    mov $12288, %esi
    mov $3, %edx
    mov $0x22, %r10d
    mov $-1, %r8
    xor %r9d, %r9d
    syscall
    mov %rax, %rdi
    mov $10, %eax
    mov $4096, %esi
    xor %edx, %edx
    syscall
    jmp still

    .globl push
push:
    push %rbp
    jmp still

    .globl wait
wait:
    mov $34, %eax
    .globl wait_call
wait_call:
    syscall
    jmp still

    .globl handler
handler:
    nop
    ret
    .globl restorer
restorer:
    mov $15, %eax
    syscall

    .data
text:
    .ascii "hello\n"
    .balign 8
everything:
    .quad -1
nothing:
    .quad 0
    .balign 8
action:
    .quad handler, 0x04000000, restorer, 0
    .globl buffer
buffer:
    .skip 64
    .section .note.GNU-stack, "", @progbits
