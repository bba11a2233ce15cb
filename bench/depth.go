//go:build amd64 || arm64

package bench

/*
#include "pingpong.h"
extern size_t pingpong_depth;
*/
import "C"

// depths are the places on the axis of the workload of stack depth. A stack has room for the deepest.
var depths = []int{1, 2, 4, 8, 16, 32, 64, 128}

// depth is the workload of a switch between two sides that call down to a depth, touch each frame, and return. The
// calls alone are measured beside it: a switch moves no stack, so the difference does not grow with the depth.
func depth() Workload {
	w := Workload{
		Name: "depth", Title: "A switch at the bottom of calls, and their returns", Operation: "switch", Base: "asm",
		Axis: "frames", Notes: []string{"A frame is a call, a cache line that is written twice, and a return."},
	}
	for _, n := range depths {
		w.Rivals = append(w.Rivals,
			Mechanism{Name: "asm", At: float64(n), Open: openDeep(&C.pingpong_deep, n, 1)},
			Mechanism{
				Name: "calls", Says: "there is no switch", At: float64(n), Open: openDeep(&C.pingpong_deep_call, n, 2),
			})
	}
	return w
}

// deep is a pair whose loop descends that many frames.
type deep struct {
	Session
	frames int
}

func openDeep(loop *C.pingpong, frames, trip int) func() (Session, error) {
	return func() (Session, error) {
		s, err := openPingpong(loop, trip)()
		return deep{s, frames}, err
	}
}

func (d deep) Run(n int) (Sample, error) {
	C.pingpong_depth = C.size_t(d.frames)
	return d.Session.Run(n)
}
