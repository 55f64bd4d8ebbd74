//go:build js && wasm

// Command wasm is package view/web/lab, compiled for a page without a server. It adds an object mrlocal
// to the scope of a worker. Its functions ask and simulate answer the questions that the page would
// otherwise send by HTTP. add adds a recorded run. Each function returns a list: a status code of
// HTTP, and the bytes of a JSON text.
//
// Only the worker calls these functions, one at a time. They cannot interrupt a simulation. To do
// that, the page ends the worker and starts another one.
package main

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"syscall/js"

	"mrlocal/view/web/lab"
)

// main sets the object mrlocal with the functions ask(name, query), simulate(draft) and add(name,
// events). All arguments are texts, except that events is a Uint8Array. A worker has one thread, so
// calls come one after the other.
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
	select {} // the worker can only call functions while main runs
}

// answer returns the list of status code and bytes that a function returns to the worker.
func answer(text []byte, err error) any {
	status := 200
	if err != nil {
		status, text = lab.Problem(err)
	}
	out := js.Global().Get("Uint8Array").New(len(text))
	js.CopyBytesToJS(out, text)
	return js.ValueOf([]any{status, out})
}
