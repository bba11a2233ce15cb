/* The program around a submission. It does nothing: the grader, outside, places values in
 * lab_memory and in registers, and calls the submission's functions by setting the program counter.
 * It returns to lab_return, where nothing runs that could come back. */

/* Both lie above 4 GB: the link says where (labs/grade/submission.go). So an address cannot lose
 * its upper half without harm. */

/* Room for contexts, stacks and data: a megabyte. */
__asm__(".section .lab_memory, \"aw\", %nobits\n"
        ".globl lab_memory\n"
        ".type lab_memory, %object\n"
        ".p2align 12\n"
        "lab_memory:\n"
        ".zero 1 << 20\n"
        ".size lab_memory, . - lab_memory\n"
        ".text\n");

/* Places to return to and bodies to enter. The grader stops the program before it executes them. */
#if defined(__x86_64__)
#define TRAP "ud2\n"
#elif defined(__aarch64__)
#define TRAP "udf #0\n"
#endif
__asm__(".section .lab_places, \"ax\", %progbits\n"
        ".p2align 4\n"
        ".globl lab_return, lab_places\n"
        ".type lab_return, %function\n"
        ".type lab_places, %function\n"
        "lab_return:\n" TRAP ".size lab_return, . - lab_return\n"
        ".p2align 4\n"
        "lab_places:\n"
        ".rept 64\n" TRAP ".p2align 4\n"
        ".endr\n"
        ".size lab_places, . - lab_places\n"
        ".text\n");

/* Here the grader takes over: libc has been set up. */
__attribute__((noinline)) void lab_ready(void) {
    __asm__ volatile("" ::: "memory");
}

/* What a function may do to the vector registers, and returns: all of them change, but on arm64 the
 * low halves of v8 to v15. The grader has a stranger's call go on here, since it sees only halves
 * of these registers. */
#if defined(__x86_64__)
#define CHANGE                                                                                     \
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"                               \
    "pcmpeqd %xmm\\n, %xmm\\n\n"                                                                   \
    ".endr\n"
#elif defined(__aarch64__)
#define CHANGE                                                                                     \
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29\n"     \
    "movi v\\n\\().2d, #-1\n"                                                                      \
    ".endr\n"                                                                                      \
    "movi v30.2d, #-1\n"                                                                           \
    "movi v31.2d, #-1\n"                                                                           \
    ".irp n, 8, 9, 10, 11, 12, 13, 14, 15\n"                                                       \
    "fmov d\\n, d\\n\n" /* clears the high half */                                                 \
    ".endr\n"
#endif
__asm__(".text\n"
        ".p2align 4\n"
        ".globl lab_change_vectors\n"
        ".type lab_change_vectors, %function\n"
        "lab_change_vectors:\n" CHANGE "ret\n"
        ".size lab_change_vectors, . - lab_change_vectors\n");

/* Single accesses to memory, and a recursion without an end.
 *
 *     unsigned char lab_load(const unsigned char *address);
 *     void lab_store(unsigned char *address, unsigned char value);
 *     void lab_recurse(void); */
#if defined(__x86_64__)
#define LOAD "movzbl (%rdi), %eax\n ret\n"
#define STORE "movb %sil, (%rdi)\n ret\n"
#define RECURSE "call lab_recurse\n ud2\n"
#elif defined(__aarch64__)
#define LOAD "ldrb w0, [x0]\n ret\n"
#define STORE "strb w1, [x0]\n ret\n"
#define RECURSE "stp x29, x30, [sp, #-16]!\n bl lab_recurse\n udf #0\n"
#endif
#define FUNCTION(name, instructions)                                                               \
    __asm__(".text\n"                                                                              \
            ".p2align 4\n"                                                                         \
            ".globl " #name "\n"                                                                   \
            ".type " #name ", %function\n" #name ":\n" instructions ".size " #name ", . - " #name  \
            "\n")
FUNCTION(lab_load, LOAD);
FUNCTION(lab_store, STORE);
FUNCTION(lab_recurse, RECURSE);

int main(void) {
    lab_ready();
    return 0;
}
