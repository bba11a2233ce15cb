// A plugin that runs tasks.
package main

import "fiberlab/sched"

// Run returns how many tasks have run.
func Run() (int, error) {
	s, err := sched.New(sched.Config{Workers: 1})
	if err != nil {
		return 0, err
	}
	n := 0
	for range 100 {
		if err := s.Go(func() {
			sched.Yield()
			n++
		}); err != nil {
			return n, err
		}
	}
	err = s.Close()
	return n, err
}

func main() {}
