// Package witness remembers what clients, webhooks, streams and an origin saw of one
// node or several, and judges it: nothing that was acknowledged is lost, nothing that
// was deleted comes back, every version that was committed arrives, once under one ID,
// in order. It uses the contract alone: the HTTP API, webhooks and streams.
//
// [Check] is the judge: a pure function of a [History] and of the state that the nodes
// show by their API. [Workload], [Client], [Sink] and [Origin] bring a history about,
// and [Recorder] collects it.
package witness
