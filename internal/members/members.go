// Package members finds the other nodes of a cluster, by gossip (hashicorp/memberlist,
// the SWIM protocol). What it says is a hint: nodes may be missing, late, or listed
// while they are dead. Who belongs to the cluster, the meta group decides; who answers,
// package peer knows. A caller uses hints to learn where a node listens, and which
// fresh nodes are there to found a cluster with. DESIGN.md has the reasons.
package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/prometheus/client_golang/prometheus"
)

// Member is a node as it describes itself.
type Member struct {
	ID       string // made with the data directory: a wiped node is another one
	Name     string // as --name has it; two nodes may have the same by mistake
	Address  string // host:port where other nodes reach it, by package peer
	Cluster  string // ID of its cluster, empty before the birth
	Fresh    bool   // its data directory holds nothing: it may take part in a founding
	Expect   int    // how many nodes it waits for to found a cluster; 0: it does not
	Draining bool   // it is about to leave
	Egress   string // label of the address that origins see
	Extracts int    // version of its extractor: nodes of others do not poll the same channels
	State    State  // as this node sees it; not part of what the member says
}

// State is how a member was found last.
type State int

// The states of a member. A member that has missed pings and may still deny its death
// is Alive: memberlist does not tell.
const (
	Alive State = iota
	Dead        // it left, or has not answered for 5 s and more
)

func (s State) String() string {
	if s == Dead {
		return "dead"
	}
	return "alive"
}

// Config is what [Open] needs to know. The zero value of a field means its default.
type Config struct {
	Self       Member   // required: ID and Name; State is ignored
	Bind       string   // host:port of the gossip, TCP and UDP, which others must reach; required; port 0: any
	Join       []string // host:port of others' gossip; this node's own may be among them
	Key        []byte   // 16, 24 or 32 bytes that all members share; nil: any program that knows Corona can join
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
	Changed    func()                // called after the list has changed, by one goroutine; must not call Close; nil: nothing

	times   times
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// times are the paces of the gossip; tests have shorter ones.
type times struct {
	probe, gossip, pushPull time.Duration // periods of memberlist
	stream                  time.Duration // limit of a connection's whole exchange
	dead                    time.Duration // how long gossip goes to a dead member too
	firstPause, lastPause   time.Duration // between attempts to join
	forget                  time.Duration // how long a dead member is listed, and tried
}

var realTimes = times{
	probe: time.Second, gossip: 200 * time.Millisecond, pushPull: 15 * time.Second, stream: 5 * time.Second, dead: 30 * time.Second,
	firstPause: 250 * time.Millisecond, lastPause: 15 * time.Second, forget: time.Hour,
}

// Members is this node's view of the others. Its methods may be called from any
// goroutine.
type Members struct {
	config    Config
	metrics   *metrics
	transport *transport
	list      *memberlist.Memberlist
	changed   chan struct{} // holds a token when Changed is to be called
	stop      context.CancelFunc
	running   sync.WaitGroup

	updating sync.Mutex // serialises Update and Close
	closed   bool       // guarded by updating

	mu struct {
		sync.Mutex
		self Member
		meta []byte // of self, encoded
		all  map[string]entry
	}
}

// entry is a member as the table has it.
type entry struct {
	Member
	gossip netip.AddrPort
	died   time.Time // zero while alive
}

// Open starts to gossip, and to join the others. It does not wait for any. The caller
// closes what it returns.
func Open(config Config) (*Members, error) {
	config = config.withDefaults()
	meta, err := encodeMeta(config.Self)
	if err != nil {
		return nil, err
	}
	bind, err := bindAddress(config.Bind, config.resolve)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &Members{config: config, metrics: newMetrics(), changed: make(chan struct{}, 1), stop: stop}
	m.mu.self, m.mu.meta, m.mu.all = config.Self, meta, make(map[string]entry)
	if err := m.start(ctx, bind); err != nil {
		stop()
		return nil, fmt.Errorf("gossip on %s: %w", config.Bind, err)
	}
	m.register()
	m.running.Go(func() { m.keepJoining(ctx) })
	m.running.Go(func() { m.tell(ctx) })
	return m, nil
}

func (c Config) withDefaults() Config {
	c.times = cmp.Or(c.times, realTimes)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Changed == nil {
		c.Changed = func() {}
	}
	if c.resolve == nil {
		c.resolve = lookup
	}
	return c
}

// openKey encrypts the gossip of nodes without a key. It keeps nothing secret: it keeps
// what is not Corona's gossip away from memberlist's decoders, which random bytes can
// make panic.
var openKey = []byte("corona gossip without a secret..")

func (m *Members) start(ctx context.Context, bind netip.AddrPort) (err error) {
	logger := newLogger(m.config.Logger, m.metrics)
	if m.transport, err = newTransport(ctx, bind, logger, m.metrics); err != nil {
		return err
	}
	at := m.transport.address()
	c := memberlist.DefaultLANConfig()
	c.Name = m.config.Self.ID
	c.BindAddr, c.BindPort = at.Addr().String(), int(at.Port())
	c.AdvertiseAddr, c.AdvertisePort = c.BindAddr, c.BindPort
	c.Transport, c.Logger = m.transport, logger
	c.SecretKey = m.config.Key
	if len(c.SecretKey) == 0 {
		c.SecretKey = openKey
	}
	t := m.config.times
	c.ProbeInterval, c.ProbeTimeout = t.probe, t.probe/2
	c.GossipInterval, c.PushPullInterval, c.GossipToTheDeadTime = t.gossip, t.pushPull, t.dead
	c.DeadNodeReclaimTime = time.Millisecond // a node that comes back may have moved
	c.TCPTimeout = t.stream
	c.EnableCompression = false
	d := delegate{m}
	c.Delegate, c.Events, c.Alive, c.Conflict = d, d, d, d
	if m.list, err = memberlist.Create(c); err != nil {
		return errors.Join(err, m.transport.Shutdown())
	}
	return nil
}

// Address returns where this node gossips, with the port that it was given.
func (m *Members) Address() string { return m.transport.address().String() }

// List returns all members known, this node included and dead ones too, sorted by ID.
// The caller owns it.
func (m *Members) List() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(time.Now())
	list := make([]Member, 0, len(m.mu.all))
	for _, e := range m.mu.all {
		list = append(list, e.Member)
	}
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// forget drops members that died long ago. Locked.
func (m *Members) forget(now time.Time) {
	for id, e := range m.mu.all {
		if e.State == Dead && now.Sub(e.died) > m.config.times.forget {
			delete(m.mu.all, id)
		}
	}
}

// ErrClosed says that the members were closed.
var ErrClosed = errors.New("gossip closed")

// Update changes what this node says of itself, which the others learn within seconds.
// Its ID cannot change.
func (m *Members) Update(self Member) error {
	if self.ID != m.config.Self.ID {
		return fmt.Errorf("member %s cannot become %s", m.config.Self.ID, self.ID)
	}
	meta, err := encodeMeta(self)
	if err != nil {
		return err
	}
	m.updating.Lock()
	defer m.updating.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.mu.Lock()
	same := slices.Equal(m.mu.meta, meta)
	m.mu.self, m.mu.meta = self, meta
	m.mu.Unlock()
	if !same {
		// Its only error is that the broadcast has not gone out within the limit.
		_ = m.list.UpdateNode(time.Nanosecond)
	}
	return nil
}

// leaveWithin bounds how long [Members.Close] waits for the others to be told.
const leaveWithin = time.Second

// Close tells the others that this node leaves, for a second at most, and ends the
// gossip. Changed is not called after it; goroutines of memberlist that wait for an
// answer may end some seconds later.
func (m *Members) Close() error {
	m.updating.Lock()
	defer m.updating.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	m.stop()
	m.running.Wait()
	if err := m.list.Leave(leaveWithin); err != nil {
		m.config.Logger.Debug("others were not told of the leave", "error", err)
	}
	return m.list.Shutdown()
}

// tell calls Changed when there is something to tell.
func (m *Members) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.changed:
			m.config.Changed()
		}
	}
}
