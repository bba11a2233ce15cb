package fiber_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/cbody"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// What fiberlab_switch answers. Nothing changes when it refuses.
func TestErrorCodesOfC(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		code := make(chan int)
		go func() { code <- cbody.Switch(nil) }()
		require.Equal(t, "the calling thread has no root fiber", cbody.ErrorText(<-code))

		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			refused := func(to unsafe.Pointer, text string) {
				t.Helper()
				order := cbody.NewOrder(cbody.Task{Peer: to, Turns: 1})
				f := fibertest.NewC(t, b, "asks", cbody.Turns, order.Pointer())
				if to == nil && text == "a fiber cannot switch to itself" {
					order.SetPeer(f.Handle())
				}
				fibertest.Enter(t, root, f)
				answer := order.Answer()
				require.Equal(t, text, cbody.ErrorText(answer.Code))
				require.Zero(t, answer.Done)
				require.Zero(t, answer.Broken)
				require.Equal(t, f.Handle(), answer.Self)
				fibertest.Finish(t, f)
				order.Free()
			}
			refused(nil, "the target was closed")
			refused(nil, "a fiber cannot switch to itself")

			over := fibertest.New(t, b, "over", func() {})
			handle := over.Handle()
			fibertest.Enter(t, root, over)
			refused(handle, "the target's body has returned")
			fibertest.Finish(t, over)
			refused(handle, "the target was closed")

			hold, held := make(chan bool), make(chan *fiber.Fiber)
			go func() {
				fibertest.OnAnotherRoot(t, b, func(other *fiber.Fiber) {
					held <- other
					<-hold
					f, err := fiber.New(fiber.Config{Backend: b}, func() {
						held <- fiber.Current()
						<-hold
					})
					assert.NoError(t, err)
					assert.NoError(t, other.SwitchTo(f))
					assert.NoError(t, f.Close())
				})
				close(held)
			}()
			other := <-held
			refused(other.Handle(), "the target is running on another thread")
			hold <- true
			busy := <-held
			refused(busy.Handle(), "the target is running on another thread")
			refused(other.Handle(), "the target is the root fiber of another thread")
			hold <- true
			<-held
			requireWorks(t, root)
		})
		require.Equal(t, "no error", cbody.ErrorText(0))
		require.Equal(t, "unknown error", cbody.ErrorText(1000))
	})
}
