/* A schedule as a string: the number of the chosen alternative for each decision. 0, which is most
 * frequent (the same thread goes on; the newest value is read), is counted:
 *
 *     a to z      1 to 26 times alternative 0
 *     1 to 9      that alternative
 *     A to V      alternatives 10 to 31
 *
 *     W           at the start, once for each thread that may stop and never go on
 *
 * Zeros at the end are left out. The empty schedule is written "a". */
#include "engine.h"

size_t schedule_write(const struct decision *path, uint32_t length, char *text, size_t size) {
    size_t used = 0;
    uint32_t zeros = 0;

    for (unsigned i = 0; i < engine->stops_max; i++)
        text[used++] = 'W';
    while (length > 1 && !path[length - 1].chosen)
        length--;
    for (uint32_t i = 0; i < length && used + 2 < size; i++) {
        unsigned c = path[i].chosen;

        if (!c) {
            zeros++;
            if (zeros < 26 && i + 1 < length && !path[i + 1].chosen)
                continue;
            text[used++] = (char)('a' + zeros - 1);
            zeros = 0;
        } else {
            text[used++] = (char)(c < 10 ? '0' + c : 'A' + c - 10);
        }
    }
    if (used == engine->stops_max)
        text[used++] = 'a';
    text[used] = 0;
    return used;
}

int schedule_read(const char *text, struct decision *path, uint32_t capacity) {
    uint32_t n = 0;

    for (engine->stops_max = 0; *text == 'W'; text++)
        engine->stops_max++;
    for (; *text; text++) {
        unsigned zeros = *text >= 'a' && *text <= 'z' ? (unsigned)(*text - 'a') + 1 : 0;
        unsigned chosen = *text >= '1' && *text <= '9'   ? (unsigned)(*text - '0')
                          : *text >= 'A' && *text <= 'V' ? (unsigned)(*text - 'A') + 10
                                                         : 0;

        if ((!zeros && !chosen) || n + zeros + 1 > capacity)
            return -1;
        if (chosen)
            path[n++] = (struct decision){.chosen = (uint8_t)chosen};
        for (; zeros; zeros--)
            path[n++] = (struct decision){.chosen = 0};
    }
    return (int)n;
}
