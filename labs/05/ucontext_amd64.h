/* Where glibc keeps things in a ucontext_t on amd64, in bytes. check.c holds them against the
 * system's own header. */
#define UC_R8 40
#define UC_R9 48
#define UC_R12 72
#define UC_R13 80
#define UC_R14 88
#define UC_R15 96
#define UC_RDI 104
#define UC_RSI 112
#define UC_RBP 120
#define UC_RBX 128
#define UC_RDX 136
#define UC_RCX 152
#define UC_RSP 160
#define UC_RIP 168
#define UC_FPREGS 224 /* the address of the floating-point state */
#define UC_X87CW 424  /* where that begins: with the control word of the x87 unit, 2 bytes */
#define UC_MXCSR 448  /* control and status of SSE, 4 bytes */
