package diskfault

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOption(t *testing.T) {
	for _, test := range []struct {
		injection Injection
		want      string
	}{
		{NoSpace(3, 1), "inject=write,pwrite64,writev,pwritev,fallocate,ftruncate:error=ENOSPC:when=3+1"},
		{FailedSync(2), "inject=fsync,fdatasync,sync_file_range:error=EIO:when=2"},
		{SlowSync(2 * time.Second), "inject=fsync,fdatasync,sync_file_range:delay_enter=2000000:when=1+1"},
	} {
		if got := test.injection.option(); got != test.want {
			t.Errorf("%+v: %q, want %q", test.injection, got, test.want)
		}
	}
}

const straceLog = `2016  1795189313.176281 fdatasync(18</d/log/000011.log>) = 0
2019  1795189313.763514 fdatasync(18</d/log/000011.log> <unfinished ...>
2016  1795189314.250000 fsync(7</d/meta/raft.db>) = -1 EIO (Input/output error) (INJECTED)
2019  1795189314.5 <... fdatasync resumed>) = -1 EIO (Input/output error) (INJECTED)
2017  1795189314.6 fdatasync(18</d/log/000012.log> <unfinished ...>
2016  1795189314.7 sync_file_range(9</d/state/000004.sst>, 0, 4096, SYNC_FILE_RANGE_WRITE) = 0 (DELAYED)
2015  1795189314.8 +++ exited with 0 +++
2017  1795189315.25 <... fdatasync resumed>) = ?
2016  1795189315.250001 +++ exited with 3 +++
2017  1795189315.345062 +++ exited with 3 +++
2017  17951`

func TestParse(t *testing.T) {
	for delays, want := range map[bool][]string{
		false: {"fdatasync /d/log/000011.log 53.764", "fsync /d/meta/raft.db 54.250"},
		true: {"fdatasync /d/log/000011.log 53.176", "fdatasync /d/log/000011.log 53.764", "fsync /d/meta/raft.db 54.250",
			"fdatasync /d/log/000012.log 54.600", "sync_file_range /d/state/000004.sst 54.700"},
	} {
		trace, err := parse(strings.NewReader(straceLog), delays)
		if err != nil {
			t.Fatal(err)
		}
		second := func(t time.Time) string { return t.Round(time.Millisecond).UTC().Format("05.000") }
		var got []string
		for _, hit := range trace.Hits {
			got = append(got, hit.Call+" "+hit.Path+" "+second(hit.At))
		}
		if !slices.Equal(got, want) || second(trace.Exited) != "55.250" {
			t.Errorf("delays %t: %q and exited %s, want %q and 55.250", delays, got, second(trace.Exited), want)
		}
	}
	if _, err := parse(strings.NewReader("2016 yesterday fsync(1</x>) = 0\n"), false); err == nil {
		t.Error("a line without a time was read")
	}
	if trace, err := parse(strings.NewReader("2016 1795189313.1 +++ exited with 0 +++\n2016 1795189313.1 +++ killed by SIGKILL +++"), false); err != nil || !trace.Exited.IsZero() {
		t.Errorf("nothing, and exited %s, %v", trace.Exited, err)
	}
}

func TestFiles(t *testing.T) {
	data := t.TempDir()
	for _, name := range []string{"log/000007.log", "log/MANIFEST-000009", "log/OPTIONS-000003", "meta/raft.db", "corona.json"} {
		path := filepath.Join(data, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Files(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"log/000007.log": true, "log/MANIFEST-000009": true, "meta/raft.db": true, "corona.json": true,
		"log/000010.log": true, "log/000012.sst": true, "log/MANIFEST-000013": true, "log/000025.blob": true,
		"log/000026.log": false, "log/000008.log": false, "meta/000001.log": false, "log": false,
	} {
		if got := slices.Contains(files, filepath.Join(data, name)); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
