package suite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// envSeed names the environment variable that sets the seed of all random tests, so that a run that failed can be
// repeated.
const envSeed = "FIBERLAB_SEED"

var seed uint64

func readSeed() (err error) {
	seed = uint64(time.Now().UnixNano())
	if text := os.Getenv(envSeed); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return fmt.Errorf("%s: %w", envSeed, err)
		}
	}
	return nil
}

// Seed returns the seed of this run. Main has printed it.
func Seed() uint64 { return seed }

// Repeat says how to run the tests with the same seed again.
func Repeat() string { return fmt.Sprintf("repeat with %s=%d", envSeed, seed) }

// NewRand returns a generator that depends on the seed of the run and the name of the test only. If the test fails,
// its log says how to repeat it.
func NewRand(t *testing.T) *rand.Rand {
	t.Helper()
	salt := uint64(14695981039346656037)
	for _, b := range []byte(t.Name()) {
		salt = (salt ^ uint64(b)) * 1099511628211
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(Repeat())
		}
	})
	return rand.New(rand.NewPCG(seed, salt))
}
