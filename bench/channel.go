package bench

import "time"

// goChannels switches between two goroutines by unbuffered channels, through the runtime's scheduler. Each send is one
// switch.
func goChannels(n int) (time.Duration, error) {
	there, back := make(chan int), make(chan int)
	go func() {
		for range trips(n) {
			<-there
			back <- 0
		}
	}()
	start := time.Now()
	for range trips(n) {
		there <- 0
		<-back
	}
	return time.Since(start), nil
}
