package primary

import (
	"os"
	"testing"

	"github.com/seed-91e7e7c1/corona/deltas/ready"
)

func TestMain(m *testing.M) {
	ready.Coders()
	os.Exit(m.Run())
}
