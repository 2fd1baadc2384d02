package api

import (
	"context"
	"io"
	"net/http"
	"time"
)

// BackupType is the media type of a backup.
const BackupType = "application/vnd.corona.backup"

// Restored says what a cluster was made of.
type Restored struct {
	Cluster       string    `json:"cluster"` // ID of the one that was backed up
	Begun         time.Time `json:"begun"`   // when the backup was
	Program       string    `json:"program"` // version that wrote it
	Ranges        int       `json:"ranges"`
	Channels      uint64    `json:"channels"`
	Subscriptions uint64    `json:"subscriptions"`
	Updates       uint64    `json:"updates"`
	Endpoints     uint64    `json:"endpoints"` // that were failing
	Positions     uint64    `json:"positions"` // of channels with deliveries
	Keys          uint64    `json:"keys"`      // records of idempotency keys
	Records       uint64    `json:"records"`   // of all kinds
	Bytes         uint64    `json:"bytes"`     // of all records
}

// Backup returns the file of a backup, as the node writes it; the caller closes it.
// Whether it is whole is for the caller to check.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) {
	header := http.Header{"Accept-Encoding": {"identity"}} // it is compressed
	response, err := c.send(ctx, http.MethodGet, "/v1/backup", header, nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// Restore makes a fresh cluster what a backup holds. A cluster that has, or had,
// subscriptions is a [*Problem] of status 409, and nothing has changed; after another
// error the call may be repeated with the same backup.
func (c *Client) Restore(ctx context.Context, backup io.Reader) (Restored, error) {
	var restored Restored
	response, err := c.send(ctx, http.MethodPost, "/v1/restore", http.Header{"Content-Type": {BackupType}}, backup)
	if err != nil {
		return restored, err
	}
	defer response.Body.Close()
	if err := decodeAnswer(response.Body, &restored); err != nil {
		return restored, &CallError{c.base, err}
	}
	return restored, nil
}
