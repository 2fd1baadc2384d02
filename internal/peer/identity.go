package peer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Identity says which node is at one end of a connection.
type Identity struct {
	Cluster string `json:"cluster"` // 32 hex digits; empty before the cluster is born
	Name    string `json:"name"`    // as --node has it; with certificates, the name in the certificate
	ID      string `json:"id"`      // made with the data directory, so that a wiped node is another one
}

func (i Identity) String() string { return fmt.Sprintf("%s (%s)", i.Name, i.ID) }

// protocol is the version of frames and hello. Nodes that speak different ones do
// not talk to each other.
const protocol = 1

// hello is what each end says first.
type hello struct {
	Protocol int      `json:"protocol"`
	Lane     Lane     `json:"lane"`
	Program  string   `json:"program"` // version, for messages
	From     Identity `json:"from"`
	To       string   `json:"to,omitempty"`      // the node ID that the dialler means; empty: any
	Refused  string   `json:"refused,omitempty"` // by the acceptor: why it closes the connection
}

// maxHello bounds the hello's payload in bytes.
const maxHello = 4 << 10

var errHello = errors.New("not a hello")

func readHello(payload []byte) (hello, error) {
	var h hello
	if err := json.Unmarshal(payload, &h); err != nil {
		return hello{}, fmt.Errorf("%w: %w", errHello, err)
	}
	if h.Refused == "" && (h.From.Name == "" || h.From.ID == "") {
		return hello{}, fmt.Errorf("%w: no name or ID", errHello)
	}
	return h, nil
}

// Reason classes why a connection was refused, for metrics.
type Reason string

// The reasons for a refusal.
const (
	ReasonCertificate Reason = "certificate" // none, foreign, expired, or of another name than the hello's
	ReasonProtocol    Reason = "protocol"    // not this protocol, or another version or lane
	ReasonCluster     Reason = "cluster"     // of another cluster
	ReasonNode        Reason = "node"        // not the node that was meant
	ReasonMember      Reason = "member"      // of no member of the cluster
)

// RefusedError says that one end refused the other.
type RefusedError struct {
	Reason Reason
	Detail string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("connection refused (%s): %s", e.Reason, e.Detail)
}

func refuse(reason Reason, format string, args ...any) error {
	return &RefusedError{reason, fmt.Sprintf(format, args...)}
}

// checkHello compares what the other end says with what this end is and expects: the
// name that its certificate proves, empty without certificates, and the node ID that
// was dialled, empty for any.
func checkHello(self Identity, theirs hello, lane Lane, proved, wanted string) error {
	switch {
	case theirs.Protocol != protocol:
		return refuse(ReasonProtocol, "node %s speaks version %d, not %d", theirs.From, theirs.Protocol, protocol)
	case theirs.Lane != lane:
		return refuse(ReasonProtocol, "node %s means lane %q, not %q", theirs.From, theirs.Lane, lane)
	case proved != "" && theirs.From.Name != proved:
		return refuse(ReasonCertificate, "the certificate is of node %s, the hello of %s", proved, theirs.From.Name)
	case self.Cluster != "" && theirs.From.Cluster != "" && self.Cluster != theirs.From.Cluster:
		return refuse(ReasonCluster, "node %s is of cluster %s, not %s", theirs.From, theirs.From.Cluster, self.Cluster)
	case wanted != "" && theirs.From.ID != wanted:
		return refuse(ReasonNode, "node %s answers, not %s", theirs.From, wanted)
	case theirs.From.ID == self.ID:
		return refuse(ReasonNode, "it is this node itself")
	}
	return nil
}
