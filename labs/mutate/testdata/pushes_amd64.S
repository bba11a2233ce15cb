/* A switch that keeps its registers on the stack: movq %rax, %rax in a comment is no instruction. */
    .text
    .globl  swap
swap:   pushq %rbx; pushq %rbp // two in a line
    subq    $24, %rsp
    mov     %rsp, (%rdi)
    mov     (%rsi), %rsp        # as the C compiler has comments
1:  movl    8(%rsp,%rcx,8), %eax
    andq    $-16, %rsp
    cmpq    $MOST, %rax
    jb      1b
    movups  %xmm0, (%rsp)
    leaq    table(%rip), %r11
    pop     %rbp
    popq    %rbx
    ret
#define ADD \
    addq    $8, %rsp
    .asciz  "movq %rbx, %rbp /* no comment */"; hlt
