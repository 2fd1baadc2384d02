package webhook

import (
	"testing"

	"github.com/seed-91e7e7c1/corona/notify/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }
