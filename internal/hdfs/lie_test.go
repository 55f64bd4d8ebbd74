package hdfs

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"time"

	"mrlocal/internal/hdfs/hdfstest"
)

// Lie is a wrong answer to one operation of WebHDFS.
type Lie struct {
	Name string
	Op   string // the operation, such as LISTSTATUS
	Slow bool   // a client notices it only when its patience ends
	Long bool   // a client reads much before it notices
	// Answer answers a request about path. It returns false if it leaves the answer to the cluster.
	// A read or write comes twice: the second time with the parameter data, to the DataNode.
	Answer func(c *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, path string) bool
}

// Tell makes c answer with the lie.
func (l Lie) Tell(c *hdfstest.Cluster) {
	c.Fault = func(op, path string, w http.ResponseWriter, r *http.Request) bool {
		return op == l.Op && l.Answer(c, w, r, path)
	}
}

// endless writes text again and again, until the client ends the connection or 30 s have gone. It is
// the part of an answer that never ends.
func endless(w http.ResponseWriter, start, text string) {
	_, _ = io.WriteString(w, start)
	block := strings.Repeat(text, 1+32<<10/len(text))
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
}

// edit replaces a pattern in the honest answer.
func edit(name, op, pattern, by string) Lie {
	return Lie{Name: name, Op: op, Answer: func(c *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, path string) bool {
		honest := httptest.NewRecorder()
		c.Honest(honest, r, path)
		if honest.Code != http.StatusOK {
			return false
		}
		_, _ = io.WriteString(w, regexp.MustCompile(pattern).ReplaceAllString(honest.Body.String(), by))
		return true
	}}
}

// say is an answer with a status and a text.
func say(name, op string, code int, text string) Lie {
	return Lie{Name: name, Op: op, Answer: func(_ *hdfstest.Cluster, w http.ResponseWriter, _ *http.Request, _ string) bool {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
		return true
	}}
}

// without is an answer that never ends.
func without(name, op, start, text string) Lie {
	return Lie{Name: name, Op: op, Long: true, Answer: func(_ *hdfstest.Cluster, w http.ResponseWriter, _ *http.Request, _ string) bool {
		endless(w, start, text)
		return true
	}}
}

// redirect is a redirection to the same place (where "") or to where.
func redirect(name, op, where string) Lie {
	return Lie{Name: name, Op: op, Answer: func(_ *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, _ string) bool {
		to := where
		if to == "" {
			to = "http://" + r.Host + r.URL.String()
		}
		if to != "none" {
			w.Header().Set("Location", to)
		}
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}}
}

// Lies returns wrong answers to all operations.
func Lies() []Lie {
	all := append(readLies(), writeLies()...)
	for _, op := range []string{"LISTSTATUS", "GETFILESTATUS", "GETFILEBLOCKLOCATIONS", "RENAME", "DELETE", "OPEN", "CREATE"} {
		all = append(all, redirect("a redirection without end", op, ""), redirect("a redirection to nowhere", op, "none"),
			redirect("a redirection to a file", op, "file:///etc/passwd"), redirect("a redirection to no address", op, "://\x01"),
			say("a page of HTML", op, 500, "<html>no</html>"), say("a status of no meaning", op, 299, ""),
			say("an exception of 7 MB", op, 403, `{"RemoteException":{"exception":"E","message":"`+strings.Repeat("x\\u0007", 1<<20)+`"}}`))
		if op == "OPEN" || op == "CREATE" {
			continue
		}
		for _, start := range []string{"", "{"} {
			all = append(all, Lie{Name: "a byte now and then after " + start, Op: op, Slow: true, Answer: func(_ *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, _ string) bool {
				drip(w, r, start)
				return true
			}})
		}
		all = append(all, edit("a member twice", op, `(?s)^\{("[^"]*":)(.*)\}\s*$`, `{$1$2,$1$2}`))
		all = append(all, say("nothing", op, 200, ""), say("null", op, 200, "null"), say("a number", op, 200, "1e999"), say("an empty object", op, 200, "{}"),
			say("deep nesting", op, 200, strings.Repeat(`{"a":[`, 5000)), say("an exception as success", op, 200, `{"RemoteException":{"exception":"E","message":"m"}}`),
			without("a string without end", op, `{"`, "x"), without("blanks without end", op, "", " "), without("nesting without end", op, "", "["),
			without("members without end", op, "{", `"a":1,`), edit("a cut in the middle", op, `(?s)^(.{12}).*$`, "$1"))
	}
	for _, op := range []string{"LISTSTATUS", "GETFILESTATUS"} {
		all = append(all, edit("a negative length", op, `"length":\d+`, `"length":-5`), edit("a length twice", op, `"length":(\d+)`, `"length":$1,"Length":7`), edit("a length twice, the same", op, `("length":\d+)`, `$1,$1`), edit("a length of text", op, `"length":(\d+)`, `"length":"$1"`),
			edit("a length of 10^30", op, `"length":\d+`, `"length":1e30`), edit("no length", op, `"length":\d+,`, ``), edit("a length of null", op, `"length":\d+`, `"length":null`),
			edit("a negative block size", op, `"blockSize":\d+`, `"blockSize":-1`), edit("another type", op, `"type":"\w+"`, `"type":"SYMLINK"`),
			edit("a number as type", op, `"type":"\w+"`, `"type":7`), edit("no type", op, `,"type":"\w+"`, ``))
	}
	for name, entry := range map[string]string{"an empty name": "", "a name with a slash": "../x/y", "a name of two dots": "..", "a name of a dot": ".", "a name with a zero byte": `\u0000`} {
		all = append(all, edit(name, "LISTSTATUS", `"pathSuffix":"[^"]*"`, `"pathSuffix":"`+entry+`"`))
	}
	return append(all, edit("a name twice", "LISTSTATUS", `"FileStatus":\[(\{[^}]*\})`, `"FileStatus":[$1,$1`), edit("an entry of null", "LISTSTATUS", `"FileStatus":\[`, `"FileStatus":[null,`),
		without("a name without end", "LISTSTATUS", `{"FileStatuses":{"FileStatus":[{"pathSuffix":"`, "x"),
		edit("a negative offset", "GETFILEBLOCKLOCATIONS", `"offset":\d+`, `"offset":-3`), edit("a negative block", "GETFILEBLOCKLOCATIONS", `"length":\d+`, `"length":-3`),
		edit("blocks that overlap", "GETFILEBLOCKLOCATIONS", `"offset":\d+`, `"offset":0`), edit("a block beyond all", "GETFILEBLOCKLOCATIONS", `"length":\d+`, `"length":9223372036854775807`),
		without("hosts without end", "GETFILEBLOCKLOCATIONS", `{"BlockLocations":{"BlockLocation":[{"hosts":[`, `"h",`))
}

// read is a lie of a DataNode about the bytes of a file. send gets the whole content and the range
// that was asked for.
func read(name string, send func(w http.ResponseWriter, all []byte, from, to int)) Lie {
	return Lie{Name: name, Op: "OPEN", Answer: func(c *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, path string) bool {
		if r.URL.Query().Get("data") == "" {
			return false
		}
		all := []byte(c.Files("")[strings.TrimPrefix(path, "/")])
		var from, length int
		_, _ = fmt.Sscan(r.URL.Query().Get("offset"), &from)
		_, _ = fmt.Sscan(r.URL.Query().Get("length"), &length)
		send(w, all, min(from, len(all)), min(from+length, len(all)))
		return true
	}}
}

// unknown makes the answer one without a length in its header.
func unknown(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// surplus sends an answer whose header has fewer bytes than are sent.
func surplus(w http.ResponseWriter, send []byte, bytes int) {
	conn, text, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(text, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", bytes, send)
	_ = text.Flush()
}

// drip sends a byte of blanks every 10 ms, until the client ends the connection.
func drip(w http.ResponseWriter, r *http.Request, start string) {
	_, _ = io.WriteString(w, start)
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, " ")
		unknown(w)
		time.Sleep(10 * time.Millisecond)
	}
}

func readLies() []Lie {
	whole := func(w http.ResponseWriter, all []byte, _, _ int) { _, _ = w.Write(all) }
	return []Lie{
		read("offset and length are ignored", whole),
		read("offset and length are ignored, no header", func(w http.ResponseWriter, all []byte, _, _ int) { unknown(w); whole(w, all, 0, 0) }),
		read("the offset is ignored", func(w http.ResponseWriter, all []byte, from, to int) {
			_, _ = w.Write(all[:min(len(all), max(to-from, 2))])
		}),
		read("the length is ignored", func(w http.ResponseWriter, all []byte, from, _ int) { _, _ = w.Write(all[from:]) }),
		read("a byte more", func(w http.ResponseWriter, all []byte, from, to int) { _, _ = w.Write(append(all[from:to:to], 'x')) }),
		read("a byte more, no header", func(w http.ResponseWriter, all []byte, from, to int) {
			unknown(w)
			_, _ = w.Write(append(all[from:to:to], 'x'))
		}),
		read("a byte less", func(w http.ResponseWriter, all []byte, from, to int) { _, _ = w.Write(all[from : to-1]) }),
		read("a byte less, no header", func(w http.ResponseWriter, all []byte, from, to int) { unknown(w); _, _ = w.Write(all[from : to-1]) }),
		read("no bytes", func(http.ResponseWriter, []byte, int, int) {}),
		read("bytes without end", func(w http.ResponseWriter, _ []byte, _, _ int) { endless(w, "", "x") }),
		read("an encoding", func(w http.ResponseWriter, all []byte, from, to int) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(all[from:to])
		}),
		read("part of the content", func(w http.ResponseWriter, all []byte, from, to int) {
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(all[from:to])
		}),
		// A connection with Content-Length that is too small leaves bytes behind the answer.
		read("a length of half the bytes", func(w http.ResponseWriter, all []byte, from, to int) { surplus(w, all[from:to], (to-from)/2) }),
		read("bytes behind the answer", func(w http.ResponseWriter, all []byte, from, to int) {
			surplus(w, append(all[from:to:to], "more"...), to-from)
		}),
		{Name: "silence", Op: "OPEN", Slow: true, Answer: func(_ *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, _ string) bool {
			unknown(w)
			<-r.Context().Done()
			return true
		}},
	}
}

// write is a lie of a DataNode about a file that it gets.
func write(name string, store func(c *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, path string)) Lie {
	return Lie{Name: name, Op: "CREATE", Answer: func(c *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, path string) bool {
		if r.URL.Query().Get("data") == "" {
			return false
		}
		store(c, w, r, path)
		return true
	}}
}

func writeLies() []Lie {
	created := func(w http.ResponseWriter) { w.WriteHeader(http.StatusCreated) }
	return []Lie{
		write("done before the end", func(_ *hdfstest.Cluster, w http.ResponseWriter, _ *http.Request, _ string) { created(w) }),
		write("nothing is stored", func(_ *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, _ string) {
			_, _ = io.Copy(io.Discard, r.Body)
			created(w)
		}),
		write("a byte is lost", func(c *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, path string) {
			data, _ := io.ReadAll(r.Body)
			c.Put(path, data[:max(0, len(data)-1)])
			created(w)
		}),
		write("stored under another name", func(c *hdfstest.Cluster, w http.ResponseWriter, r *http.Request, path string) {
			data, _ := io.ReadAll(r.Body)
			c.Put(path+"x", data)
			created(w)
		}),
		say("created at once", "CREATE", http.StatusCreated, ""), say("fine", "CREATE", http.StatusOK, ""),
		say("renamed, but it is not", "RENAME", 200, `{"boolean":true}`), say("renamed: perhaps", "RENAME", 200, `{"boolean":"true"}`), say("not renamed", "RENAME", 200, `{"boolean":false}`),
		say("removed, but it is not", "DELETE", 200, `{"boolean":true}`), say("nothing to remove, but there is", "DELETE", 200, `{"boolean":false}`), say("removed: null", "DELETE", 200, `{"boolean":null}`),
	}
}
