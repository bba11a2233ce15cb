// Two threads of relacy that exchange values in two objects, 100 times a schedule. Whole schedules
// are run.
#include <relacy/relacy.hpp>

#include <sstream>

#include "loop.h"

struct points : rl::test_suite<points, 2> {
    rl::atomic<int> x, y;

    void before() {
        x($) = 0;
        y($) = 0;
    }

    void thread(unsigned) {
        for (int i = 1; i <= 25; i++) {
            x.exchange(i, rl::mo_seq_cst, $);
            y.exchange(i, rl::mo_seq_cst, $);
        }
    }
};

uint64_t run(uint64_t trips) {
    const uint64_t schedules = trips / 50 ? trips / 50 : 1;
    std::ostringstream said;
    rl::test_params parameters;

    parameters.iteration_count = schedules;
    parameters.output_stream = &said;
    parameters.progress_stream = &said;
    uint64_t start = nanoseconds();
    if (!rl::simulate<points>(parameters))
        abort();
    return (nanoseconds() - start) * trips / (50 * schedules);
}
