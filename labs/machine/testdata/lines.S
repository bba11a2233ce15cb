/* Its table of lines is written by hand: 4 bytes of line 7, 4 bytes of line 0 and 4 bytes of line 9. */
    .section .debug_info, "", %progbits
    .long   1f - 0f
0:  .2byte  2                           /* the version */
    .long   abbreviations
    .byte   8, 1                        /* bytes of an address; a unit */
    .long   lines
1:
    .section .debug_abbrev, "", %progbits
abbreviations:
    .byte   1, 0x11, 0, 0x10, 6, 0, 0, 0
    .section .debug_line, "", %progbits
lines:
    .long   3f - 2f
2:  .2byte  2
    .long   5f - 4f
4:  .byte   1, 1, 0, 1, 13              /* an instruction has one byte or more; opcodes from 13 on are not used */
    .byte   0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
    .byte   0
    .asciz  "written.c"
    .byte   0, 0, 0, 0
5:  .byte   0, 9, 2                     /* the address */
    .quad   _start
    .byte   3, 6, 1                     /* 6 lines further: a row */
    .byte   2, 4, 3, 0x79, 1            /* 4 bytes and -7 lines further: a row */
    .byte   2, 4, 3, 9, 1               /* 4 bytes and 9 lines further: a row */
    .byte   2, 4, 0, 1, 1               /* 4 bytes further: the end */
3:
    .text
    .globl  _start
    .type   _start, %function
_start:
    .long   0, 0, 0
    .size   _start, . - _start
    .section .note.GNU-stack, "", %progbits
