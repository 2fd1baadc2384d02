package channel

import "testing"

func TestRange(t *testing.T) {
	r := Range{From: 3, To: 5}
	for b, want := range map[Bucket]bool{2: false, 3: true, 4: true, 5: true, 6: false} {
		if r.Has(b) != want {
			t.Errorf("Has(%d) = %v", b, !want)
		}
	}
	if got := r.Buckets(); got != 3 {
		t.Errorf("%d buckets, want 3", got)
	}
	if one := (Range{From: 7, To: 7}); one.Buckets() != 1 || !one.Has(7) {
		t.Errorf("a range of one bucket has %d", one.Buckets())
	}
}
