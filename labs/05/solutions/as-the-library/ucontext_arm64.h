/* Where glibc keeps things in a ucontext_t on arm64, in bytes. check.c holds them against the
 * system's own header. */
#define UC_X0 184
#define UC_X2 200
#define UC_X4 216
#define UC_X6 232
#define UC_X19 336
#define UC_X21 352
#define UC_X23 368
#define UC_X25 384
#define UC_X27 400
#define UC_X29 416
#define UC_X30 424
#define UC_SP 432
#define UC_PC 440
#define UC_FPHEAD                                                                                  \
    464 /* the head of the floating-point state, which begins with FPSIMD_MAGIC, 4 bytes */
#define UC_FPCR 476 /* 4 bytes */
#define UC_V8 608   /* 16 bytes each; the lower 8 are d8 */
#define UC_V9 624
#define UC_V10 640
#define UC_V11 656
#define UC_V12 672
#define UC_V13 688
#define UC_V14 704
#define UC_V15 720
