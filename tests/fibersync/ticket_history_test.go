package fibersync_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fiberlab/internal/history"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// ticketOp is an operation on a queue of tickets or on the ticket of that number.
type ticketOp struct {
	name   string
	number int
}

// ticketState is a queue: the numbers of its tickets in order, each in one word, and
// with a mark if it is done.
type ticketState string

// take adds a ticket; a queue whose first one is done has lost it.
func (s ticketState) take(number int) ticketState {
	return s + ticketState(fmt.Sprintf("%d ", number))
}

func (s ticketState) called(number int) bool {
	word := fmt.Sprintf("%d ", number)
	return strings.HasPrefix(string(s), word) || !strings.Contains(" "+string(s), " "+word)
}

func (s ticketState) done(number int) ticketState {
	word := fmt.Sprintf("%d ", number)
	marked := strings.Replace(" "+string(s), " "+word, " "+"x"+word, 1)[1:]
	for strings.HasPrefix(marked, "x") {
		_, marked, _ = strings.Cut(marked, " ")
	}
	return ticketState(marked)
}

// A queue is a list: a ticket is added when taken, dropped when it is done and first, and
// called only when it is first.
func TestTicketHistories(t *testing.T) {
	queue := history.Spec[ticketState, ticketOp, bool]{
		Step: func(s ticketState, in ticketOp, out bool) (bool, ticketState) {
			switch in.name {
			case "take":
				return out, s.take(in.number)
			case "done":
				return out, s.done(in.number)
			case "wait":
				return out && s.called(in.number), s
			}
			return !out || s.called(in.number), s
		},
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	eachCompany(t, func(c *company) {
		random := suite.NewRand(c.t)
		for range suite.Scaled(8, 2) {
			const clients, rounds = 4, 10
			h := history.New[ticketOp, bool](clients)
			var q fibersync.TicketQueue
			for client := range clients {
				ends := random.Perm(rounds)
				c.start(func() {
					for round := range rounds {
						number := client*rounds + round
						var ticket *fibersync.Ticket
						h.Do(client, ticketOp{"take", number}, func() bool {
							ticket = q.Take()
							return true
						})
						if ends[round]%3 == 0 {
							h.Do(
								client, ticketOp{"try", number}, func() bool { return ticket.WaitContext(over) == nil },
							)
						} else {
							h.Do(client, ticketOp{"wait", number}, func() bool {
								ticket.Wait()
								return true
							})
						}
						if ends[round]%2 == 0 {
							pause()
						}
						h.Do(client, ticketOp{"done", number}, func() bool {
							ticket.Done()
							return true
						})
					}
				})
			}
			c.wait()
			queue.Check(c.t, h)
		}
	})
}
