package members

import (
	"net/netip"
	"time"

	"github.com/hashicorp/memberlist"
)

// delegate is what memberlist calls, partly with its lock held: it calls nothing of
// memberlist's.
type delegate struct{ m *Members }

// NodeMeta implements [memberlist.Delegate].
func (d delegate) NodeMeta(int) []byte {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	return d.m.mu.meta
}

// NotifyMsg implements [memberlist.Delegate]: there are no messages of our own.
func (delegate) NotifyMsg([]byte) {}

// GetBroadcasts implements [memberlist.Delegate].
func (delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements [memberlist.Delegate].
func (delegate) LocalState(bool) []byte { return nil }

// MergeRemoteState implements [memberlist.Delegate].
func (delegate) MergeRemoteState([]byte, bool) {}

// NotifyAlive implements [memberlist.AliveDelegate]: it refuses members whose
// description cannot be read.
func (d delegate) NotifyAlive(node *memberlist.Node) error {
	_, err := member(node)
	if err != nil {
		d.m.metrics.refused.Inc()
	}
	return err
}

// NotifyConflict implements [memberlist.ConflictDelegate]: two nodes have one ID, so
// one's data directory is a copy of the other's, or one has moved and is not yet seen
// as dead at its old address.
func (d delegate) NotifyConflict(existing, other *memberlist.Node) {
	d.m.metrics.conflicts.Inc()
	if d.m.metrics.conflictLog.allow(time.Now()) {
		d.m.config.Logger.Warn("two nodes gossip with one ID: is a data directory a copy?", "id", existing.Name, "here", existing.Address(), "there", other.Address())
	}
}

// NotifyJoin implements [memberlist.EventDelegate].
func (d delegate) NotifyJoin(node *memberlist.Node) { d.put(node) }

// NotifyUpdate implements [memberlist.EventDelegate].
func (d delegate) NotifyUpdate(node *memberlist.Node) { d.put(node) }

func (d delegate) put(node *memberlist.Node) {
	found, err := member(node)
	if err != nil {
		return // NotifyAlive has refused it
	}
	ip, _ := netip.AddrFromSlice(node.Addr)
	d.m.mu.Lock()
	d.m.mu.all[found.ID] = entry{Member: found, gossip: netip.AddrPortFrom(ip.Unmap(), node.Port)}
	d.m.mu.Unlock()
	d.m.signal()
}

// NotifyLeave implements [memberlist.EventDelegate].
func (d delegate) NotifyLeave(node *memberlist.Node) {
	d.m.mu.Lock()
	e, known := d.m.mu.all[node.Name]
	e.State, e.died = Dead, time.Now()
	if known {
		d.m.mu.all[node.Name] = e
	}
	d.m.mu.Unlock()
	d.m.signal()
}

func (m *Members) signal() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

func member(node *memberlist.Node) (Member, error) {
	found, err := decodeMeta(node.Meta)
	found.ID = node.Name
	if err == nil {
		err = checkText("ID", found.ID, maxID)
	}
	return found, err
}
