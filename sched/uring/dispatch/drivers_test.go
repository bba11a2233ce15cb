package dispatch

import (
	"testing"
	"time"

	"fiberlab/sched/uring"
)

// hang is how long a test waits for what should come at once.
const hang = time.Minute

// eachDriver runs test with options for each driver that the kernel has.
func eachDriver(t *testing.T, test func(t *testing.T, options Options)) {
	for _, driver := range uring.Drivers() {
		t.Run(driver.String(), func(t *testing.T) {
			if report := uring.Probe(); driver == uring.Uring && report.Reason != nil {
				t.Log(report.Reason)
				return
			}
			test(t, Options{Engine: uring.Options{Driver: driver}})
		})
	}
}
