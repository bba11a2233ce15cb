// deque.c as a test of relacy. It makes as many random schedules as its argument says.
#include <relacy/relacy.hpp>

struct deque : rl::test_suite<deque, 2> {
    enum { SIZE = 4, EMPTY = -1 };

    rl::atomic<int> top, bottom, slots[SIZE];
    rl::var<int> work[2];

    void before() {
        top($) = 0;
        bottom($) = 0;
        for (int i = 0; i < SIZE; i++) {
            slots[i]($) = 0;
        }
    }

    void push(int item) {
        int b = bottom.load(rl::mo_relaxed, $);

        slots[b % SIZE].store(item, rl::mo_relaxed, $);
        rl::atomic_thread_fence(rl::mo_release, $);
        bottom.store(b + 1, rl::mo_relaxed, $);
    }

    int take() {
        int b = bottom.load(rl::mo_relaxed, $) - 1;

        bottom.store(b, rl::mo_relaxed, $);
        rl::atomic_thread_fence(rl::mo_seq_cst, $);
        int t = top.load(rl::mo_relaxed, $);
        if (t > b) {
            bottom.store(b + 1, rl::mo_relaxed, $);
            return EMPTY;
        }
        int item = slots[b % SIZE].load(rl::mo_relaxed, $);
        if (t == b) {
            if (!top.compare_exchange_strong(t, t + 1, rl::mo_seq_cst, $)) {
                item = EMPTY;
            }
            bottom.store(b + 1, rl::mo_relaxed, $);
        }
        return item;
    }

    int steal() {
        int t = top.load(rl::mo_acquire, $);

        rl::atomic_thread_fence(rl::mo_seq_cst, $);
        int b = bottom.load(rl::mo_acquire, $);
        if (t >= b) {
            return EMPTY;
        }
        int item = slots[t % SIZE].load(rl::mo_relaxed, $);
        return top.compare_exchange_strong(t, t + 1, rl::mo_seq_cst, $) ? item : EMPTY;
    }

    void use(int item) {
        if (item != EMPTY) {
            int before = work[item]($);
            work[item]($) = before + 1;
            RL_ASSERT(before == 10 + item);
        }
    }

    void thread(unsigned index) {
        if (index == 1) {
            use(steal());
            use(steal());
            return;
        }
        for (int item = 0; item < 2; item++) {
            work[item]($) = 10 + item;
            push(item);
        }
        use(take());
        use(take());
    }
};

int main(int argc, char **argv) {
    rl::test_params params;

    params.search_type = rl::random_scheduler_type;
    params.iteration_count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    return rl::simulate<deque>(params) ? 0 : 1;
}
