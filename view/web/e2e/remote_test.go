package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// own returns an address of this machine that other machines can reach. The test is skipped if there is
// none.
func own(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Skip("there is no address but that of the machine itself")
	return ""
}

// TestTwoPagesOnAHostStayLoggedIn opens two pages with --allow-remote on two ports of one host, each in
// a tab of one browser. A third server on that host sees what the browser sends to other ports.
func TestTwoPagesOnAHostStayLoggedIn(t *testing.T) {
	host := own(t)
	var mu sync.Mutex
	var seen []string // requests with their headers
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skip(err)
	}
	other := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintln(r.URL, r.Header))
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>other</title>"))
	})}}
	other.Start()
	defer other.Close()

	dir, names := recorded(t, borrow, "fair")
	bars := "document.querySelector('.lanes canvas')?.dataset.bars === '16'"
	var pages, tokens []string
	for range 2 {
		address := serve(t, dir, "ui", names[0], "--addr", net.JoinHostPort(host, "0"), "--allow-remote")
		_, token, found := strings.Cut(address, "?token=")
		if !found {
			t.Fatalf("the address has no token: %s", address)
		}
		tab := open(t, address)
		until(t, tab, bars)
		pages, tokens = append(pages, eval(t, tab, "location.href")), append(tokens, token)
		if strings.Contains(pages[len(pages)-1], token) || eval(t, tab, "document.cookie") != "" {
			t.Error("the token stays in the address bar, or a script can read it")
		}
	}
	for range 2 { // each again, after the other one has logged in
		for _, page := range pages {
			until(t, open(t, page), bars)
		}
	}
	tab := open(t, pages[0])
	until(t, tab, bars)
	do(t, tab, chromedp.Evaluate("location.href = '"+other.URL+"/'", nil))
	until(t, tab, "document.title === 'other'")
	do(t, tab, chromedp.Navigate(other.URL+"/api/runs"))
	mu.Lock()
	defer mu.Unlock()
	if len(seen) < 2 {
		t.Errorf("the other port has seen %q", seen)
	}
	for _, request := range seen {
		for i, token := range tokens {
			secret := strings.Trim(pages[i][strings.LastIndex(strings.TrimRight(pages[i], "/"), "/"):], "/")
			if strings.Contains(request, token) || strings.Contains(request, secret) || strings.Contains(request, "mrlocal") {
				t.Errorf("page %d: another port gets %q", i, request)
			}
		}
	}
}
