package serve

import (
	"time"

	"fiberlab/internal/histogram"
)

// Figures are what a server has done. Those about a request are 0 if there was none.
type Figures struct {
	Program string `json:"program"`
	Address string `json:"address"`
	TLS     bool   `json:"tls,omitempty"`
	Driver  string `json:"driver"`
	Why     string `json:"why"`
	Backend string `json:"backend,omitempty"` // of the fibers; empty if connections have goroutines
	Policy  string `json:"policy,omitempty"`
	Workers int    `json:"workers,omitempty"`

	Seconds     float64 `json:"seconds"`
	Connections int64   `json:"connections"` // accepted
	// attempts to accept a connection that failed because no descriptor or memory was left
	Refused  int64 `json:"refused"`
	Idle     int64 `json:"idle"`     // connections that were closed because no byte moved on them
	Cut      int   `json:"cut"`      // connections that were not finished in time
	Requests int64 `json:"requests"` // that were answered
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`

	// The time from the end of a request's read until its answer has been handed to the kernel. The network, and the
	// time before the request was read, are not in it.
	ServiceP50 float64 `json:"service_p50_us"`
	ServiceP99 float64 `json:"service_p99_us"`

	// Processor time of the process from the first moment that clients could connect, by getrusage(2).
	UserPerRequest   float64 `json:"user_us_per_request"`
	SystemPerRequest float64 `json:"system_us_per_request"`

	// nil under driver go, whose system calls are not counted here: see strace -fc
	Engines *EngineFigures `json:"engines,omitempty"`
}

// EngineFigures are what the engines have done.
type EngineFigures struct {
	Enters           uint64  `json:"enters"`    // system calls by which they submit, wait and collect
	Submitted        uint64  `json:"submitted"` // requests that were handed to the kernel
	Collected        uint64  `json:"collected"` // completions that came back
	Wakes            uint64  `json:"wakes"`     // waits that other threads have ended
	EntersPerRequest float64 `json:"enters_per_request"`
}

// fill adds what was counted.
func (f *Figures) fill(s *site, took time.Duration, cpu usage) {
	f.Seconds = took.Seconds()
	f.Connections, f.Refused, f.Idle = s.connections.Load(), s.refused.Load(), s.idled.Load()
	var service histogram.Sum
	for i := range s.tallies {
		t := &s.tallies[i]
		f.Requests += t.requests.Load()
		f.BytesIn += t.in.Load()
		f.BytesOut += t.out.Load()
		service.Add(&t.service)
	}
	f.ServiceP50, f.ServiceP99 = microseconds(service.Quantile(0.5)), microseconds(service.Quantile(0.99))
	if n := float64(f.Requests); n > 0 {
		f.UserPerRequest, f.SystemPerRequest = microseconds(cpu.user)/n, microseconds(cpu.system)/n
	}
	s.describe(f)
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
