// A body that switches while it handles exceptions.
#include "cxxbody.h"

#include <exception>

namespace {

struct Outer {
    int64_t number;
};

struct Inner {
    int64_t number;
};

void leave(cxx_order *order) {
    order->wrong += fiberlab_switch(order->peer) != FIBERLAB_OK;
    order->done++;
}

// Whether the exception that is being handled is an E of the order's.
template <typename E> bool handles(const cxx_order *order) {
    try {
        throw;
    } catch (const E &e) {
        return e.number == order->number;
    } catch (...) {
        return false;
    }
}

// Switches when it is destroyed, as part of the way from a throw to its catch clause.
struct Leaver {
    cxx_order *order;
    ~Leaver() {
        for (int64_t i = 0; i < order->turns; i++) {
            leave(order);
            order->wrong += std::uncaught_exceptions() != 1;
        }
    }
};

void nested(cxx_order *order) {
    try {
        Leaver leaver{order};
        throw Inner{order->number};
    } catch (const Inner &e) {
        for (int64_t i = 0; i < order->turns; i++) {
            leave(order);
            order->wrong += e.number != order->number || !handles<Inner>(order);
        }
    }
}

} // namespace

void cxx_catch_body(void *argument) {
    cxx_order *order = static_cast<cxx_order *>(argument);
    try {
        throw Outer{order->number};
    } catch (const Outer &e) {
        for (int64_t i = 0; i < order->turns; i++) {
            leave(order);
            order->wrong += e.number != order->number || !handles<Outer>(order);
            order->wrong += std::uncaught_exceptions() != 0;
        }
        nested(order);
        order->wrong += !handles<Outer>(order);
    }
    leave(order);
    order->wrong += std::current_exception() != nullptr || std::uncaught_exceptions() != 0;
}
