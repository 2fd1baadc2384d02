package main

import (
	"fmt"

	"github.com/seed-91e7e7c1/corona/server"
)

// tokenTexts is the flag --api-token. It takes whatever it is given: what a flag
// refuses is repeated in the message, and these are secrets.
type tokenTexts struct{ texts []string }

// Set implements [pflag.Value].
func (t *tokenTexts) Set(text string) error { return t.Append(text) }

// Append implements [pflag.SliceValue].
func (t *tokenTexts) Append(text string) error {
	t.texts = append(t.texts, text)
	return nil
}

// Replace implements [pflag.SliceValue].
func (t *tokenTexts) Replace(texts []string) error {
	t.texts = append([]string{}, texts...)
	return nil
}

// GetSlice implements [pflag.SliceValue]: it gives nothing away.
func (t *tokenTexts) GetSlice() []string { return nil }

// String implements [pflag.Value]: it gives nothing away.
func (t *tokenTexts) String() string { return "" }

// Type implements [pflag.Value].
func (t *tokenTexts) Type() string { return "tokens" }

// parse returns the tokens, none if the flag was not given.
func (t *tokenTexts) parse() (server.Tokens, error) {
	if t.texts == nil {
		return server.Tokens{}, nil
	}
	tokens, err := server.ParseTokens(t.texts...)
	if err != nil {
		return tokens, fmt.Errorf("--api-token: %w", err)
	}
	return tokens, nil
}
