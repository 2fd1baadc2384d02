package webhook

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-91e7e7c1/corona/channel"
	"github.com/seed-91e7e7c1/corona/notify/internal/memstore"
	"github.com/seed-91e7e7c1/corona/notify/streak"
)

// Questions and answers arrive as they were sent.
func TestMessagesOfKeepers(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 5000).UTC() }
	sent, arrived := at(100), at(2000) // by clocks that differ
	question := func(now time.Time) streak.Question {
		return streak.Question{From: 1 << 63, Works: true, Wants: true, Unused: 7, Created: at(1), Outcomes: []streak.Outcome{
			{Failed: &streak.Failure{Gone: true, Text: "410", RetryAfter: time.Hour}, Grant: 9, Began: now.Add(-time.Minute)},
			{Tested: true, Began: now.Add(-time.Millisecond)}, {Began: now},
		}}
	}
	asked := question(sent)
	urls := []string{sinkA, sinkB}
	gotURLs, questions, err := decodeQuestions(encodeQuestions(urls, []*streak.Question{&asked, {From: 2}}, sent), memstore.Everything, arrived)
	if want := []streak.Question{question(arrived), {From: 2}}; err != nil || !reflect.DeepEqual(gotURLs, urls) || !reflect.DeepEqual(questions, want) {
		t.Errorf("%v %+v, %v; want %+v", gotURLs, questions, err, want)
	}
	want := []streak.Answer{{
		Record: channel.Endpoint{
			URL: sinkA, State: channel.EndpointSuspended, FailingSince: at(1), Attempts: 10, LastError: "no", NextAttempt: at(2), LostUntil: at(3),
		},
		Grant: 1 << 63, LostUntil: at(4), Again: time.Minute,
	}, {Record: channel.Endpoint{URL: sinkB}}}
	if got, err := decodeAnswers(encodeAnswers(want), urls); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if _, err := decodeAnswers(encodeAnswers(want), urls[:1]); err == nil {
		t.Error("two answers to one question are taken")
	}
}

// What no sound node asks is refused as a whole, and so is what another node keeps.
func TestUnsoundQuestions(t *testing.T) {
	virtual(t, func(t *testing.T, n *node) {
		elapse(time.Second)
		outcomes := strings.Repeat(`{},`, streak.MaxOutcomes) + `{}`
		for name, content := range map[string]string{
			"no JSON":              `x`,
			"none":                 `[]`,
			"without a URL":        `[{"from":1}]`,
			"without a deliverer":  `[{"url":"http://a.example/"}]`,
			"with a long URL":      fmt.Sprintf(`[{"url":"http://a.example/%s","from":1}]`, strings.Repeat("x", channel.MaxURL)),
			"with many outcomes":   fmt.Sprintf(`[{"url":"http://a.example/","from":1,"outcomes":[%s]}]`, outcomes),
			"that wait two days":   `[{"url":"http://a.example/","from":1,"outcomes":[{"failed":true,"retry_after_us":172800000000}]}]`,
			"of requests to come":  `[{"url":"http://a.example/","from":1,"outcomes":[{"age_us":-1}]}]`,
			"that wait since ever": `[{"url":"http://a.example/","from":1,"outcomes":[{"failed":true,"retry_after_us":-1}]}]`,
		} {
			if _, err := n.deliverer.ServeAsk(t.Context(), memstore.Everything, []byte(content)); err == nil {
				t.Errorf("questions %s: answered", name)
			}
		}
		sound := encodeQuestions([]string{sinkA}, []*streak.Question{{From: 1, Works: true, Outcomes: []streak.Outcome{{Failed: &streak.Failure{Text: "no"}}}}}, time.Now())
		bucket := channel.IDOf(sinkA).Bucket()
		other := channel.Range{From: bucket + 1, To: bucket + 1}
		if _, err := n.deliverer.ServeAsk(t.Context(), other, sound); err == nil {
			t.Error("answered of another range")
		}
		if content, err := n.deliverer.ServeAsk(t.Context(), memstore.Everything, sound); err != nil || !strings.Contains(string(content), `"attempts":1`) {
			t.Errorf("a sound one: %s, %v", content, err)
		}
		n.deliverer.RangeLost(memstore.Everything, 1)
		if _, err := n.deliverer.ServeAsk(t.Context(), memstore.Everything, sound); err == nil {
			t.Error("answered after the range was lost")
		}
	})
}
