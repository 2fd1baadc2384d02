package status

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/seed-91e7e7c1/corona/api"
	"github.com/seed-91e7e7c1/corona/cmd/corona/internal/cli"
	"github.com/seed-91e7e7c1/corona/internal/timespan"
)

// printOptimiser prints what rates are solved for, and how that stands.
func printOptimiser(w io.Writer, o *api.Optimiser) {
	cli.Fact(w, "policy", "%s", policyText(o))
	cli.Fact(w, "budget", "%s", budgetText(o))
	if o.Capacity != nil {
		cli.Fact(w, "capacity", "%s %s per interval: this node cannot keep up with more", cli.Number(math.Round(*o.Capacity)), o.Cost)
	}
	cli.Fact(w, "limits", "%s", limitsText(o))
	cli.Fact(w, "solved", "%s", solvedText(o))
}

func policyText(o *api.Optimiser) string {
	text := o.Policy
	if o.TargetS > 0 {
		text += " with a target of " + timespan.Seconds(o.TargetS)
	}
	return text + ", ladder " + o.Ladder
}

func budgetText(o *api.Optimiser) string {
	text := fmt.Sprintf("%s %s per interval", cli.Number(math.Round(o.Budget)), o.Cost)
	if o.BudgetAuto {
		text += ", what the subscribers would cause alone"
	}
	if o.Budget > 0 {
		text += fmt.Sprintf("; planned %s (%s %%)", cli.Number(math.Round(o.Planned)), cli.Number(math.Round(1000*o.Planned/o.Budget)/10))
	}
	return text
}

// limitsText says which limits could not be kept, and which hold polls back.
func limitsText(o *api.Optimiser) string {
	var unmet []string
	if o.Unmet.Budget {
		unmet = append(unmet, "the lowest rates cost more than the budget")
	}
	if o.Unmet.Target {
		unmet = append(unmet, "the target cannot be reached")
	}
	if n := o.Unmet.Channels; n > 0 {
		unmet = append(unmet, fmt.Sprintf("channels outside bounds of their own: %d", n))
	}
	if n := o.Unmet.Hosts; n > 0 {
		unmet = append(unmet, fmt.Sprintf("hosts beyond their cap at the lowest rates: %d", n))
	}
	text := "all kept"
	if !o.Feasible && o.Solved != nil {
		text = "not all can be kept: " + strings.Join(unmet, ", ")
	}
	if o.HostsBound > 0 {
		text += fmt.Sprintf("; hosts at their cap: %d", o.HostsBound)
	}
	return text
}

func solvedText(o *api.Optimiser) string {
	if o.Solved == nil {
		return "not yet"
	}
	text := fmt.Sprintf("%s, in %s; again each %s", cli.TimeText(o.Solved), cli.TookText(o.SolveMs), timespan.Seconds(o.MaintenanceS))
	if o.Updates > 0 {
		text += fmt.Sprintf(", and %d times since for what had changed", o.Updates)
	}
	return text
}
