// Two contexts of Boost.Context, by its lowest layer: assembly that saves registers on the stack
// that it leaves.
#include <boost/context/detail/fcontext.hpp>

#include "loop.h"

using namespace boost::context::detail;

alignas(64) static unsigned char stack[64 << 10];

static void answer(transfer_t t) {
    for (;;)
        t = jump_fcontext(t.fctx, nullptr);
}

static fcontext_t away = make_fcontext(stack + sizeof stack, sizeof stack, answer);

uint64_t run(uint64_t trips) {
    uint64_t start = nanoseconds();
    for (; trips; trips--)
        away = jump_fcontext(away, nullptr).fctx;
    return nanoseconds() - start;
}
