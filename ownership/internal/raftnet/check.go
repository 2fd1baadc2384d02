package raftnet

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// checkSender wants a message to come from the node of the replica that it names as
// its sender.
func checkSender(group uint32, from string, h raft.RPCHeader) error {
	sender, err := ParseID(group, raft.ServerID(h.ID))
	switch {
	case err != nil:
		return fmt.Errorf("%w: sender: %w", errMessage, err)
	case sender.Node != from || string(h.Addr) != from:
		return fmt.Errorf("%w: node %s speaks as %s at %s", errMessage, from, h.ID, h.Addr)
	case h.ProtocolVersion != raft.ProtocolVersionMax:
		return fmt.Errorf("%w: protocol %d of raft", errMessage, h.ProtocolVersion)
	}
	return nil
}

// checkAppend wants entries to follow each other and to be ones that raft and the
// state machine know: raft would note them in the log, and fail on them at each
// start. command checks the content of commands.
func checkAppend(a *raft.AppendEntriesRequest, command func(*raft.Log) error) error {
	term := a.PrevLogTerm
	for i, e := range a.Entries {
		if e.Index != a.PrevLogEntry+1+uint64(i) || e.Index == 0 {
			return fmt.Errorf("%w: entry %d at place %d behind %d", errMessage, e.Index, i, a.PrevLogEntry)
		}
		if e.Term < max(term, 1) || e.Term > a.Term {
			return fmt.Errorf("%w: entry %d of term %d between %d and %d", errMessage, e.Index, e.Term, term, a.Term)
		}
		term = e.Term
		if err := checkEntry(a, e, command); err != nil {
			return err
		}
	}
	return nil
}

func checkEntry(a *raft.AppendEntriesRequest, e *raft.Log, command func(*raft.Log) error) error {
	switch e.Type {
	case raft.LogCommand:
		if err := command(e); err != nil {
			return fmt.Errorf("%w: entry %d: %w", errMessage, e.Index, err)
		}
	case raft.LogNoop, raft.LogBarrier:
	case raft.LogConfiguration:
		if err := checkConfiguration(e.Data); err != nil {
			return fmt.Errorf("%w: entry %d: %w", errMessage, e.Index, err)
		}
	default:
		return fmt.Errorf("%w: entry %d of type %d, from %s", errMessage, e.Index, e.Type, a.ID)
	}
	return nil
}

// checkConfiguration wants what raft can decode, with a voter, and with replicas that
// this package can reach.
func checkConfiguration(encoded []byte) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("configuration: %v", cause)
		}
	}()
	voters := 0
	seen := make(map[raft.ServerID]bool)
	for _, s := range raft.DecodeConfiguration(encoded).Servers {
		replica, err := ParseID(0, s.ID)
		switch {
		case err != nil:
			return fmt.Errorf("configuration: %w", err)
		case seen[s.ID] || s.Address != replica.Address():
			return fmt.Errorf("configuration: %s twice, or at %s", s.ID, s.Address)
		case s.Suffrage != raft.Voter && s.Suffrage != raft.Nonvoter:
			return fmt.Errorf("configuration: %s with suffrage %d", s.ID, s.Suffrage)
		}
		seen[s.ID] = true
		if s.Suffrage == raft.Voter {
			voters++
		}
	}
	if voters == 0 {
		return fmt.Errorf("configuration without voters")
	}
	return nil
}

func checkInstall(s *raft.InstallSnapshotRequest) error {
	switch {
	case s.SnapshotVersion != raft.SnapshotVersionMax:
		return fmt.Errorf("%w: state of version %d", errMessage, s.SnapshotVersion)
	case s.LastLogIndex == 0 || s.LastLogTerm == 0 || s.LastLogTerm > s.Term || s.ConfigurationIndex > s.LastLogIndex || s.Size < 0:
		return fmt.Errorf("%w: state at %d of term %d, configuration at %d, %d bytes", errMessage, s.LastLogIndex, s.LastLogTerm, s.ConfigurationIndex, s.Size)
	}
	if err := checkConfiguration(s.Configuration); err != nil {
		return fmt.Errorf("%w: state: %w", errMessage, err)
	}
	return nil
}
