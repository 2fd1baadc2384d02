package guard

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/seed-91e7e7c1/corona/channel"
)

// The addresses of row 14 of the bad-input table, and their neighbours, as they
// are dialled.
var addresses = []struct {
	network, address string
	public           bool
}{
	{"tcp4", "8.8.8.8:80", true},
	{"tcp4", "93.184.216.34:8443", true},
	{"tcp6", "[2606:2800:220:1:248:1893:25c8:1946]:443", true},
	{"tcp4", "127.0.0.1:80", false},
	{"tcp4", "127.9.9.9:80", false},
	{"tcp4", "0.0.0.0:80", false},
	{"tcp4", "10.1.2.3:80", false},
	{"tcp4", "100.64.0.1:80", false},
	{"tcp4", "169.254.169.254:80", false},
	{"tcp4", "172.31.255.255:80", false},
	{"tcp4", "192.168.1.1:80", false},
	{"tcp4", "198.18.0.1:80", false},
	{"tcp4", "224.0.0.1:80", false},
	{"tcp4", "255.255.255.255:80", false},
	{"tcp4", "168.63.129.16:80", false},
	{"tcp6", "[::]:80", false},
	{"tcp6", "[::1]:80", false},
	{"tcp6", "[::ffff:127.0.0.1]:80", false},
	{"tcp6", "[::ffff:8.8.8.8]:80", false},
	{"tcp6", "[64:ff9b::7f00:1]:80", false},
	{"tcp6", "[64:ff9b:1::a00:1]:80", false},
	{"tcp6", "[2002:7f00:1::]:80", false},
	{"tcp6", "[2001:db8::1]:80", false},
	{"tcp6", "[fc00::1]:80", false},
	{"tcp6", "[fe80::1]:80", false},
	{"tcp6", "[fe80::1%eth0]:80", false},
	{"tcp6", "[ff02::1]:80", false},
}

func TestControl(t *testing.T) {
	for _, test := range addresses {
		err := Control(false)(test.network, test.address, nil)
		if (err == nil) != test.public || (err != nil && !errors.Is(err, ErrForbidden)) {
			t.Errorf("Control(false)(%s): %v; public: %v", test.address, err, test.public)
		}
		if err := Control(true)(test.network, test.address, nil); err != nil {
			t.Errorf("Control(true)(%s): %v", test.address, err)
		}
	}
}

func TestControlAlwaysRefuses(t *testing.T) {
	tests := []struct{ network, address string }{
		{"tcp4", "8.8.8.8:22"},
		{"tcp4", "8.8.8.8:25"},
		{"tcp4", "8.8.8.8:6379"},
		{"tcp4", "127.0.0.1:11211"},
		{"tcp4", "8.8.8.8:0"},
		{"udp4", "8.8.8.8:80"},
		{"unix", "/run/docker.sock"},
		{"tcp4", "example.com:80"},
		{"tcp4", "8.8.8.8"},
	}
	for _, test := range tests {
		for _, allowPrivate := range []bool{false, true} {
			if err := Control(allowPrivate)(test.network, test.address, nil); !errors.Is(err, ErrForbidden) {
				t.Errorf("Control(%v)(%s, %s): %v", allowPrivate, test.network, test.address, err)
			}
		}
	}
}

func TestCheckURL(t *testing.T) {
	const ( // when the URL passes
		always = iota
		private
		never
	)
	tests := []struct {
		raw  string
		when int
	}{
		{"https://example.com/feed", always},
		{"https://example.com:8443/feed", always},
		{"http://8.8.8.8/", always},
		{"http://[2606:2800:220:1::1]/", always},
		{"http://7.example.com/", always},
		{"http://notlocalhost/", always},
		{"http://a.0xyz/", always},
		{"http://localhost/", private},
		{"http://LOCALHOST.:8080/", private},
		{"http://feed.localhost/", private},
		{"http://127.0.0.1:9100/feed", private},
		{"http://0.0.0.0/", private},
		{"http://169.254.169.254/latest/meta-data/", private},
		{"http://[::1]/", private},
		{"http://[::ffff:127.0.0.1]/", private},
		{"http://[64:ff9b::7f00:1]/", private},
		{"http://0177.0.0.1/", never},
		{"http://0x7f.0.0.1/", never},
		{"http://127.1/", never},
		{"http://2130706433/", never},
		{"http://0x7f000001/", never},
		{"http://0x/", never},
		{"http://1.2.3.4.5/", never},
		{"http://example.com:22/", never},
		{"https://example.com:25/", never},
		{"http://127.0.0.1:6379/", never},
	}
	for _, test := range tests {
		canonical, err := channel.Canonical(test.raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, allowPrivate := range []bool{false, true} {
			want := test.when == always || test.when == private && allowPrivate
			err := CheckURL(canonical, allowPrivate)
			if (err == nil) != want || err != nil && !errors.Is(err, ErrForbidden) {
				t.Errorf("CheckURL(%s, %v): %v; want it to pass: %v", canonical, allowPrivate, err, want)
			}
		}
	}
}

func TestForbiddenPorts(t *testing.T) {
	if !slices.IsSorted(forbiddenPorts[:]) {
		t.Error("not sorted: the search would miss some")
	}
	if most := forbiddenPorts[len(forbiddenPorts)-1]; most >= 32768 {
		t.Errorf("port %d is ephemeral", most)
	}
	for _, port := range []uint16{80, 443, 8000, 8080, 8410, 8443, 9100} {
		if ForbiddenPort(port) {
			t.Errorf("port %d is forbidden", port)
		}
	}
}

// FuzzCheckURL holds that the early check never lets pass a literal address that
// the dialler would refuse, and that private URLs are the only ones that
// allowPrivate adds.
func FuzzCheckURL(f *testing.F) {
	for _, test := range addresses {
		f.Add("http://" + test.address + "/x")
	}
	for _, seed := range []string{"http://0x7f.1/", "http://localhost./", "http://%31%32%37.0.0.1/", "http://①②⑦.0.0.1/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		canonical, err := channel.Canonical(raw)
		if err != nil {
			return
		}
		strict, lax := CheckURL(canonical, false), CheckURL(canonical, true)
		if strict == nil && lax != nil {
			t.Fatalf("%s passes only where private addresses do not: %v", canonical, lax)
		}
		dialled, err := netip.ParseAddrPort(channel.Host(canonical))
		if err != nil {
			return
		}
		network := "tcp4"
		if dialled.Addr().Is6() {
			network = "tcp6"
		}
		for allowPrivate, early := range map[bool]error{false: strict, true: lax} {
			late := Control(allowPrivate)(network, dialled.String(), nil)
			if (early == nil) != (late == nil) {
				t.Fatalf("CheckURL(%s, %v): %v, but dialling: %v", canonical, allowPrivate, early, late)
			}
		}
	})
}
