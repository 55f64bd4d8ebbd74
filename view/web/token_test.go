package web_test

import (
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"mrlocal/view/web"
)

// own returns an address of this machine that is not the loopback.
func own(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has no address but the loopback's")
	return ""
}

func TestAnAddressThatOthersReachNeedsTheToken(t *testing.T) {
	s, err := web.Listen(web.Options{Addr: own(t) + ":0", AllowRemote: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	whole := s.URL()
	plain, token, ok := strings.Cut(whole, "?token=")
	if !ok || len(token) < 26 {
		t.Fatalf("the address %q has no token", whole)
	}
	u, err := url.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	cookie := "Cookie: mrlocal-token-" + u.Port() + "="
	for name, c := range map[string]struct {
		path   string
		header []string
		want   int
	}{
		"no token":                 {"", nil, 401},
		"no token for a question":  {"api/runs", nil, 401},
		"no token for a file":      {"main.js", nil, 401},
		"a wrong token":            {"?token=" + strings.Repeat("A", 26), nil, 401},
		"a token in another path":  {"api/runs?token=" + token, nil, 401},
		"the token":                {"?token=" + token, nil, 303},
		"the cookie":               {"api/runs", []string{cookie + token}, 200},
		"a wrong cookie":           {"api/runs", []string{cookie + "x"}, 401},
		"the header of a program":  {"metrics", []string{"Authorization: Bearer " + token}, 404},
		"a wrong header":           {"metrics", []string{"Authorization: Bearer x"}, 401},
		"the token, another host":  {"?token=" + token, []string{"Host: evil.example"}, 421},
		"the cookie, another site": {"api/simulate", []string{cookie + token, "Host: evil.example"}, 421},
	} {
		if got, text, h := get(t, "GET", plain+c.path, "", c.header...); got != c.want {
			t.Errorf("%s: status %d, want %d: %s", name, got, c.want, text)
		} else if got == 303 && !strings.Contains(h.Get("Set-Cookie"), "HttpOnly; SameSite=Strict") {
			t.Errorf("%s: the cookie is %q", name, h.Get("Set-Cookie"))
		}
	}
}

// TestTwoPagesOnAHostKeepTheirCookies opens two pages in one browser, as cookies know no port. The
// token of a page goes to no other port.
func TestTwoPagesOnAHostKeepTheirCookies(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	var pages []string
	var last string
	for range 2 {
		s, err := web.Listen(web.Options{Addr: own(t) + ":0", AllowRemote: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		answer, err := browser.Get(s.URL())
		if err != nil || answer.StatusCode != 200 {
			t.Fatal(answer, err)
		}
		answer.Body.Close()
		pages, last = append(pages, answer.Request.URL.String()), s.URL()
	}
	for _, page := range pages {
		for _, file := range []string{"", "main.js", "api/runs"} {
			answer, err := browser.Get(page + file)
			if err != nil || answer.StatusCode != 200 {
				t.Errorf("%s: %v, %v", page+file, answer, err)
				continue
			}
			answer.Body.Close()
		}
	}
	plain, _, _ := strings.Cut(last, "?")
	for _, path := range []string{"", "api/runs", "api/events"} {
		u, err := url.Parse(plain + path)
		if sent := jar.Cookies(u); err != nil || len(sent) > 0 {
			t.Errorf("a server on another port gets %v for /%s, %v", sent, path, err)
		}
	}
}
