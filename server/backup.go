package server

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/seed-91e7e7c1/corona/api"
)

// maxCopies is how many backups and restores are under way at a time: each reads or
// writes all that there is.
const maxCopies = 2

// backup answers GET /v1/backup with a file that is whole only if it says so.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) error {
	ctx, end, err := s.copying(r)
	if err != nil {
		return err
	}
	defer end()
	w.Header().Set("Content-Type", api.BackupType)
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return nil
	}
	out := s.patientWriter(w)
	defer context.AfterFunc(s.stopping, out.hurry)()
	if err := s.node.Backup(ctx, out); err != nil {
		s.log.Warn("backup broken off", "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// restore answers POST /v1/restore once the whole body is durable.
func (s *Server) restore(w http.ResponseWriter, r *http.Request) error {
	if err := checkBackupType(r.Header); err != nil {
		return err
	}
	ctx, end, err := s.copying(r)
	if err != nil {
		return err
	}
	defer end()
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // a refusal comes before the end of the body
	source := &patientReader{ctx, r.Body, control, s.cfg.ReadTimeout}
	defer context.AfterFunc(ctx, source.interrupt)()
	restored, err := s.node.Restore(ctx, clientBody{source})
	extendWrite(w, s.cfg.WriteTimeout) // however long it took
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, restored)
}

// clientBody makes of a read that fails the client's failure. The node tells a body that is cut.
type clientBody struct{ *patientReader }

func (b clientBody) Read(buf []byte) (int, error) {
	n, err := b.patientReader.Read(buf)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || b.ctx.Err() != nil {
		return n, err
	}
	return n, bodyError(err)
}

// copying begins what reads or writes all that there is, until end is called. Its context
// ends with the server too.
func (s *Server) copying(r *http.Request) (ctx context.Context, end func(), err error) {
	if err := parseQuery(r, nil, nil).err; err != nil {
		return nil, nil, err
	}
	leave, ok := s.copies.take(r)
	if !ok {
		return nil, nil, api.NewProblem(http.StatusServiceUnavailable, "too many backups are being written or restored")
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(s.stopping, cancel)
	return ctx, func() { stop(); cancel(); leave() }, nil
}

// checkBackupType wants a type that no form of a web page has.
func checkBackupType(header http.Header) error {
	if header.Get("Content-Type") != api.BackupType || header.Get("Content-Encoding") != "" {
		return api.NewProblem(http.StatusUnsupportedMediaType, "want Content-Type "+api.BackupType+", and no Content-Encoding")
	}
	return nil
}
