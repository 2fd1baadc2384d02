// Package datadir owns a node's data directory: one process at a time, one
// format, one identity.
//
// The directory holds corona.json (what it is: format number, node name,
// incarnation) and LOCK (the process that has it open: an advisory lock of the
// kernel's, which ends with the process however that ends, and the holder's
// description, for the error of the next process).
package datadir

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Format is the number of the directory layout that this program writes. A
// directory of a higher number is refused untouched.
const Format = 1

const (
	identityFile = "corona.json"
	lockFile     = "LOCK"
)

// maxFile caps what is read of the two small files.
const maxFile = 64 << 10

// ErrHeld is returned by [Open] when another process has the directory open.
var ErrHeld = errors.New("data directory is in use")

// Identity says which node a directory belongs to. It is written once.
type Identity struct {
	Format      int       `json:"format"`
	Name        string    `json:"name"`        // the node's name
	Incarnation string    `json:"incarnation"` // random: a wiped directory is another node
	Created     time.Time `json:"created"`
}

// Holder describes the process that has a directory open.
type Holder struct {
	PID     int       `json:"pid"`
	Name    string    `json:"name"`
	Listen  string    `json:"listen"`
	Started time.Time `json:"started"`
}

// Dir is an open data directory.
type Dir struct {
	Path     string
	Identity Identity
	lock     *os.File
}

// Open takes the directory for this process, making it when there is none. Name
// is the node's name; empty means the name kept in the directory, or a new one.
// A name other than the kept one is refused, since names are how other nodes
// know this one.
//
// Errors wrap [ErrHeld], naming the holder, [ErrForeign] or [ErrNewer].
func Open(path, name, listen string, now time.Time) (*Dir, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	lock, err := openLocked(path)
	if err != nil {
		return nil, err
	}
	dir := &Dir{Path: path, lock: lock}
	if err := dir.identify(name, now); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	holder := Holder{PID: os.Getpid(), Name: dir.Identity.Name, Listen: listen, Started: now.UTC()}
	if err := writeHolder(lock, holder); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return dir, nil
}

// Close gives the directory back.
func (d *Dir) Close() error { return d.lock.Close() }

// Join returns the path of a file or folder inside the directory.
func (d *Dir) Join(name string) string { return filepath.Join(d.Path, name) }

func openLocked(path string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := acquire(lock, path); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// Held returns [ErrHeld], naming the holder, while a process has the directory
// open.
func Held(path string) error {
	lock, err := os.Open(filepath.Join(path, lockFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open lock file: %w", err)
	}
	return errors.Join(acquire(lock, path), lock.Close())
}

// acquire takes the lock for this process; ErrHeld names the process that has it.
func acquire(lock *os.File, path string) error {
	err := tryLock(lock)
	if errors.Is(err, errLocked) {
		return fmt.Errorf("%s: %w by %s", path, ErrHeld, describeHolder(lock))
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	return nil
}

func describeHolder(lock *os.File) string {
	var holder Holder
	text, err := io.ReadAll(io.LimitReader(lock, maxFile))
	if err != nil || json.Unmarshal(text, &holder) != nil {
		return "another process"
	}
	return fmt.Sprintf("node %q, process %d, listening on %s since %s",
		holder.Name, holder.PID, holder.Listen, holder.Started.Format(time.RFC3339))
}

func writeHolder(lock *os.File, holder Holder) error {
	text, err := json.Marshal(holder)
	if err != nil {
		return fmt.Errorf("describe lock holder: %w", err)
	}
	text = append(text, '\n')
	// In this order the file system allocates no block: a full disk must not keep a node
	// down.
	if _, err := lock.WriteAt(text, 0); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	if err := lock.Truncate(int64(len(text))); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	return nil
}

// identify reads the directory's identity, or writes a new one.
func (d *Dir) identify(name string, now time.Time) error {
	identity, err := readIdentity(d.Path)
	if errors.Is(err, os.ErrNotExist) {
		d.Identity = newIdentity(name, now)
		return writeIdentity(d.Path, d.Identity)
	}
	if err != nil {
		return err
	}
	if name != "" && name != identity.Name {
		return fmt.Errorf("%s belongs to node %q, not to %q: leave the name out, or use another data directory", d.Path, identity.Name, name)
	}
	d.Identity = identity
	return nil
}

func newIdentity(name string, now time.Time) Identity {
	incarnation := randomHex(8)
	if name == "" {
		name = "node-" + incarnation[:6]
	}
	return Identity{Format: Format, Name: name, Incarnation: incarnation, Created: now.UTC()}
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b)
}

func readIdentity(path string) (Identity, error) {
	file, err := os.Open(filepath.Join(path, identityFile))
	if err != nil {
		return Identity{}, err
	}
	defer file.Close()
	var written writtenIdentity
	if err := json.NewDecoder(io.LimitReader(file, maxFile)).Decode(&written); err != nil {
		return Identity{}, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	identity := written.Identity
	if identity.Format > Format {
		return identity, nil // for the caller to refuse: who knows what is in the file
	}
	if identity.Format < 1 || identity.Name == "" || identity.Incarnation == "" {
		return Identity{}, fmt.Errorf("read %s: not the identity of a corona node", file.Name())
	}
	if identity.Format <= Format && written.CRC32C != 0 && written.CRC32C != identity.sum() {
		return Identity{}, fmt.Errorf("read %s: damaged: its checksum does not match", file.Name())
	}
	return identity, nil
}

// writtenIdentity is an identity as it is in the file. One without a checksum was
// written by an older program.
type writtenIdentity struct {
	Identity
	CRC32C uint32 `json:"crc32c,omitempty"`
}

// sum returns a checksum of what the identity says.
func (i Identity) sum() uint32 {
	text := fmt.Sprintf("%d %q %q %s", i.Format, i.Name, i.Incarnation, i.Created.Format(time.RFC3339Nano))
	return crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
}

// writeIdentity writes the file whole or not at all, through a power loss too.
func writeIdentity(path string, identity Identity) error {
	text, err := json.MarshalIndent(writtenIdentity{identity, identity.sum()}, "", "  ")
	if err != nil {
		return fmt.Errorf("write identity: %w", err)
	}
	temporary := filepath.Join(path, identityFile+".new")
	if err := writeSynced(temporary, append(text, '\n')); err != nil {
		return fmt.Errorf("write identity: %w", err)
	}
	if err := os.Rename(temporary, filepath.Join(path, identityFile)); err != nil {
		return fmt.Errorf("write identity: %w", err)
	}
	return SyncDir(path)
}

func writeSynced(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}
