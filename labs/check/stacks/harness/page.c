/* What the grader of lab 4 asks. */
#include <stdint.h>
#include <unistd.h>

/* Returns the size of a page in bytes. An emulator may have other pages than its machine. */
uint64_t lab_page_size(void) {
    return (uint64_t)sysconf(_SC_PAGESIZE);
}
