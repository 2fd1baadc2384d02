package server_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/server"
)

// TestBackup: what the node writes is what a client gets, and what a client sends is what
// the node takes, if it says what it is.
func TestBackup(t *testing.T) {
	node := &fakeNode{backup: "all there is"}
	s, _ := newServer(t, node, server.Config{})
	got := serve(s, request("GET", "/v1/backup", ""))
	if got.Code != http.StatusOK || got.Body.String() != node.backup || got.Header().Get("Content-Type") != api.BackupType {
		t.Errorf("backup: %d, %q, %v", got.Code, got.Body, got.Header())
	}
	if head := serve(s, request("HEAD", "/v1/backup", "")); head.Code != http.StatusOK || head.Body.Len() > 0 || head.Header().Get("Content-Type") != api.BackupType {
		t.Errorf("head of a backup: %d, %q, %v", head.Code, head.Body, head.Header())
	}
	answer := read[api.Restored](t, serve(s, request("POST", "/v1/restore", "another", "Content-Type", api.BackupType)), http.StatusOK)
	if answer.Subscriptions != 1 || node.backup != "another" {
		t.Errorf("restored %q: %+v", node.backup, answer)
	}
	for _, contentType := range []string{"", "application/json", "application/x-www-form-urlencoded"} {
		w := serve(s, request("POST", "/v1/restore", "a third", "Content-Type", contentType))
		wantProblem(t, w, http.StatusUnsupportedMediaType, "", api.BackupType)
	}
	if node.backup != "another" {
		t.Errorf("a refused restore reached the node: %q", node.backup)
	}
	reset := httptest.NewRequest("POST", "http://127.0.0.1:8410/v1/restore", iotest.ErrReader(syscall.ECONNRESET))
	reset.Header.Set("Content-Type", api.BackupType)
	wantProblem(t, serve(s, reset), http.StatusBadRequest, "", "broke off")
	wantProblem(t, serve(s, request("GET", "/v1/backup?range=1", "")), http.StatusBadRequest, "range", "")
	node.failure = api.NewProblem(http.StatusConflict, "not fresh")
	wantProblem(t, serve(s, request("POST", "/v1/restore", "x", "Content-Type", api.BackupType)), http.StatusConflict, "", "not fresh")
}

// TestBackupBrokenOff: a node that cannot go on cuts the connection.
func TestBackupBrokenOff(t *testing.T) {
	s, _ := newServer(t, &fakeNode{failure: errors.New("range 3 has no leader")}, server.Config{})
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler {
			t.Errorf("ended with %v", cause)
		}
	}()
	w := serve(s, request("GET", "/v1/backup", ""))
	t.Errorf("answered %d: %s", w.Code, w.Body)
}
