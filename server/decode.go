package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/seed-91e7e7c1/corona/api"
)

// readBody returns the body of a request that carries one JSON object.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := checkContent(r.Header); err != nil {
		return nil, err
	}
	if r.ContentLength > maxBody {
		return nil, errTooLarge("body")
	}
	defer waitForClient(r)()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, errTooLarge("body")
	}
	if err != nil {
		return nil, fmt.Errorf("read body: %w", bodyError(err))
	}
	return body, nil
}

func errTooLarge(what string) error {
	return api.NewProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("%s longer than %d bytes", what, maxBody))
}

// bodyError makes of a body that broke off what it is: the client's failure.
// A deadline stays one.
func bodyError(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return err
	}
	return api.NewProblem(http.StatusBadRequest, "the body broke off: "+err.Error())
}

// checkContent refuses bodies that say that they are something else than text
// in JSON. What a tool sends by default passes: curl -d calls everything a form.
func checkContent(header http.Header) error {
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return api.NewProblem(http.StatusUnsupportedMediaType, "Content-Encoding "+clip(encoding)+": send it uncompressed")
	}
	contentType := header.Get("Content-Type")
	if contentType == "" {
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType = strings.ToLower(contentType)
	}
	switch {
	case strings.HasSuffix(mediaType, "json"), strings.HasPrefix(mediaType, "text/plain"),
		mediaType == "application/x-www-form-urlencoded", mediaType == "application/octet-stream":
		return nil
	}
	return api.NewProblem(http.StatusUnsupportedMediaType, "Content-Type "+clip(contentType)+": want application/json")
}

// decode reads one JSON object into a struct whose fields are all that it may
// have, each once. Its error is a problem that says what is wrong and where. Nesting
// is bounded by encoding/json.
func decode(data []byte, into any) error {
	if !utf8.Valid(data) { // encoding/json would put something else in its place
		return api.NewProblem(http.StatusBadRequest, "not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return malformed(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return api.NewProblem(http.StatusBadRequest, fmt.Sprintf("something follows the JSON object, from byte %d", decoder.InputOffset()))
	}
	if name := duplicateName(data); name != "" {
		return api.BadField(name, "stands in the object more than once")
	}
	return nil
}

func malformed(err error) error {
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return api.NewProblem(http.StatusBadRequest, "want a JSON object, have nothing")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return api.NewProblem(http.StatusBadRequest, "the JSON ends too early")
	case errors.As(err, &syntax):
		return api.NewProblem(http.StatusBadRequest, fmt.Sprintf("malformed JSON at byte %d: %v", syntax.Offset, err))
	case errors.As(err, &wrongType):
		return api.BadField(wrongType.Field, fmt.Sprintf("want %s, have %s", jsonType(wrongType.Type), wrongType.Value))
	default: // an unknown field, which the text names
		return api.NewProblem(http.StatusBadRequest, clip(strings.TrimPrefix(err.Error(), "json: ")))
	}
}

func jsonType(t reflect.Type) string {
	if t.Kind() == reflect.String {
		return "a string"
	}
	return "an object"
}
