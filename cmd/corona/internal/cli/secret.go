package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// secretAnnotation marks a flag whose value may stand in a file of its own, named by
// CORONA_NAME_FILE or by the key name-file.
const secretAnnotation = "corona_secret"

// MarkSecret lets a flag's value come from a file. The name is of a flag that
// cmd has.
func MarkSecret(cmd *cobra.Command, name string) {
	if err := cmd.Flags().SetAnnotation(name, secretAnnotation, nil); err != nil {
		panic(err)
	}
}

// IsSecret reports whether MarkSecret marked a flag.
func IsSecret(flag *pflag.Flag) bool {
	_, found := flag.Annotations[secretAnnotation]
	return found
}
