package grade

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An item has longer on a busy machine, and not without end.
func TestTimeOf(t *testing.T) {
	for load, want := range map[string]time.Duration{
		"":                            10 * time.Second,
		"0.52 0.60 0.61 1/400 9":      10 * time.Second,
		"10.00 9.00 8.00 11/400 9":    10 * time.Second,
		"20.00 9.00 8.00 11/400 9":    20 * time.Second,
		"1000.00 9.00 8.00 990/400 9": 50 * time.Second,
	} {
		require.Equal(t, want, timeOf(10*time.Second, load, 2), load)
	}
}
