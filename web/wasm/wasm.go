//go:build js && wasm

// Command wasm is package web/lab compiled for a page without a server. It puts an object
// mrlocal into the scope of a worker: ask and simulate answer the questions that the page
// otherwise asks by HTTP, and add adds a recorded run. Each returns a list of a status as
// HTTP has them and the bytes of a JSON text.
//
// The worker is the only caller, so one question is answered at a time. A simulation cannot
// be interrupted in here: the page ends the worker, and starts another one.
//
// Neighbours: web/assets/offline.js and worker.js call it; package web/site compiles it.
package main

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"syscall/js"

	"mrlocal/web/lab"
)

// main offers three functions to the worker as the object mrlocal: ask, simulate and add. Each
// takes texts or bytes and returns what answer makes of them. A worker has one thread, so calls
// come one after the other.
func main() {
	var l lab.Lab
	api := js.Global().Get("Object").New()
	offer := func(name string, f func(args []js.Value) ([]byte, error)) {
		api.Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any {
			text, err := f(args)
			return answer(text, err)
		}))
	}
	ctx := context.Background()
	offer("ask", func(args []js.Value) ([]byte, error) {
		q, err := url.ParseQuery(args[1].String())
		if err != nil {
			return nil, err
		}
		return l.Answer(ctx, args[0].String(), q)
	})
	offer("simulate", func(args []js.Value) ([]byte, error) { return l.Simulate(ctx, []byte(args[0].String())) })
	offer("add", func(args []js.Value) ([]byte, error) {
		events := make([]byte, args[1].Length())
		js.CopyBytesToGo(events, args[1])
		run, err := lab.Recorded(args[0].String(), func(<-chan struct{}) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(events)), nil
		})
		if err != nil {
			return nil, err
		}
		l.Add(run)
		return []byte("{}"), nil
	})
	js.Global().Set("mrlocal", api)
	select {} // the worker calls from here on
}

// answer returns the status and the text for the worker.
func answer(text []byte, err error) any {
	status := 200
	if err != nil {
		status, text = lab.Problem(err)
	}
	out := js.Global().Get("Uint8Array").New(len(text))
	js.CopyBytesToJS(out, text)
	return js.ValueOf([]any{status, out})
}
