// Package trace keeps what the fibers of a scheduler do, for counts and for pictures.
//
// A [Recorder] is given to a scheduler by sched.Config.Recorder. It counts every transition, keeps the latest events
// one by one, and sums up how long the tasks of each name ran and waited. [Recorder.WriteTrace] and
// [Recorder.WritePerfetto] write what is kept as a file for trace viewers.
//
//	recorder.go  the recorder, of all workers
//	buffer.go    one worker's part, which the scheduler calls
//	tasktime.go  the sums by the names of tasks
//	write.go     slices, instants and arrows, written as JSON; perfetto.go: as protocol buffers
//	idle.go      the same for workers without work
package trace

import _ "fiberlab/internal/platform"
