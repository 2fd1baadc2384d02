package jsondoc

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-91e7e7c1/corona/deltas/content"
	"github.com/seed-91e7e7c1/corona/deltas/scan"
)

// What dates of JSON objects are called, the likeliest first.
var (
	publishedNames = [...]string{"published", "published_at", "publishedat", "date_published", "pubdate", "created", "created_at", "createdat", "date"}
	updatedNames   = [...]string{"updated", "updated_at", "updatedat", "date_modified", "modified", "modified_at", "last_modified"}

	// stampNames are the members that tell when a document was made or what an
	// item's dates are. They are not content: see the notes.
	stampNames = scan.Set("generated", "generatedat", "generatedon", "dategenerated", "timegenerated", "generationtime", "generationtimems",
		"timestamp", "ts", "lastupdated", "lastupdatedat", "lastupdate", "lastrefreshed", "lastrefresh", "lastfetched", "lastchecked",
		"lastbuilddate", "builddate", "buildtime", "fetchedat", "scrapedat", "crawledat", "retrievedat", "renderedat", "cachedat", "refreshedat",
		"servertime", "servertimestamp", "currenttime", "now", "asof",
		"requestid", "xrequestid", "traceid", "correlationid", "etag", "nonce", "csrf", "csrftoken", "xsrftoken", "sessionid",
		"took", "tookms", "elapsed", "elapsedms", "elapsedtime", "responsetime", "responsetimems", "querytime", "querytimems",
		"processingtime", "processingtimems", "executiontime", "executiontimems",
		"published", "publishedat", "datepublished", "pubdate",
		"updated", "updatedat", "datemodified", "modified", "modifiedat", "lastmodified")
)

// dateNames are publishedNames and updatedNames, in that order.
var dateNames = scan.Ranks(slices.Concat(publishedNames[:], updatedNames[:])...)

// memberDates returns the members that are dates, as RFC 3339: those whose names,
// in lower case, have the lowest ranks.
func memberDates(item *Value) (published, updated string) {
	var dates [len(publishedNames) + len(updatedNames)]string
	for i := range item.Children {
		m := &item.Children[i]
		if rank, ok := dateNames[strings.ToLower(m.Name)]; ok {
			dates[rank] = cmp.Or(dates[rank], jsonDate(m))
		}
	}
	return cmp.Or(dates[:len(publishedNames)]...), cmp.Or(dates[len(publishedNames):]...)
}

// jsonDate reads RFC 3339 and seconds since 1970.
func jsonDate(v *Value) string {
	switch v.Kind {
	case '"':
		return content.ClampDate(nil, v.Text)
	case '0':
		if seconds, err := strconv.ParseInt(v.Text, 10, 64); err == nil && seconds > 0 && seconds < 1<<33 {
			t := time.Unix(seconds, 0)
			return content.ClampDate(&t, "")
		}
	}
	return ""
}

// isStamp reports a member that is named as one of stampNames, unless it is a list or
// says yes or no: what was modified, or that it is published, is content.
func (v *Value) isStamp() bool {
	return v.Kind != '[' && v.Text != "true" && v.Text != "false" && isStampName(v.Name)
}

// isStampName reports a name that is one of stampNames, however its words are joined:
// generated_at, generatedAt, Generated-At.
func isStampName(name string) bool {
	var room [24]byte
	bare := room[:0]
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == '.':
		case len(bare) == len(room):
			return false
		default:
			bare = append(bare, scan.LowerByte(c))
		}
	}
	return stampNames[string(bare)]
}
