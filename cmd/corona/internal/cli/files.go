package cli

import (
	"fmt"
	"io"
	"os"
)

// ReadFile returns the content of a file of at most limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return content, nil
}
