package web

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"mrlocal/internal/errs"
)

// checkAddr checks o.Addr, and sets its default. It returns the host of the address, and whether
// other machines can reach it.
func checkAddr(o *Options) (host string, remote bool, err error) {
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:0")
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil || port == "" {
		return "", false, errs.Fieldf("Options.Addr", "%s: write HOST:PORT, as in 127.0.0.1:8080", o.Addr)
	}
	ip, parsed := netip.ParseAddr(host)
	switch {
	case host == "" || parsed == nil && ip.IsUnspecified():
		return "", false, errs.Fieldf("Options.Addr", "%s: names no host; give the host that browsers will use, as in 192.168.1.5:8080", o.Addr)
	case host == "localhost" || parsed == nil && ip.IsLoopback():
		return host, false, nil
	// Events contain names of files and jobs, so by default no other machine can read them.
	case !o.AllowRemote:
		return "", false, errs.Fieldf("Options.Addr", "%s: other machines could reach it; with %s the page asks for a token", o.Addr, errs.Field("Options.AllowRemote"))
	}
	return host, true, nil
}

// allowedHosts returns the values of the header Host that a browser may send to this server. Any
// other value may be the name of a hostile site that resolves to this machine.
func allowedHosts(host, port string) map[string]bool {
	allowed := map[string]bool{}
	for _, h := range []string{"127.0.0.1", "localhost", "::1", strings.ToLower(host)} {
		allowed[net.JoinHostPort(h, port)] = true
		if port == "80" { // browsers leave out the port
			allowed[strings.TrimSuffix(net.JoinHostPort(h, port), ":80")] = true
		}
	}
	return allowed
}

// policy is the Content-Security-Policy of every answer: the page may only load its own files.
const policy = "default-src 'self'; img-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// guard returns a handler that checks every request before next gets it. It checks the header Host,
// the token if admit is not nil, and that no other site has sent the request. It also sets the security
// headers of every answer.
func guard(next http.Handler, hosts map[string]bool, admit *admission) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !hosts[strings.ToLower(r.Host)] {
			http.Error(w, "this server does not answer for that host", http.StatusMisdirectedRequest)
			return
		}
		if admit == nil {
			next.ServeHTTP(w, r)
		} else if admit.admits(w, r) {
			admit.below(next).ServeHTTP(w, r)
		}
	})
}

// admission says who may use a page that other machines can reach. A browser sends the cookies of a
// host to each of its ports. So the cookie has the port in its name, and the browser sends it only
// with a path that nobody can guess. Then pages on one host do not replace the cookies of each other,
// and no server on another port gets the token.
type admission struct {
	token  string
	cookie string // name of the cookie with the token. With it the token does not stay in the address bar
	path   string // of the cookie, and of the page for browsers: a slash before and behind
}

// newAdmission returns an admission for the server of a port. Its token has at least 128 random bits,
// so that nobody can guess it.
func newAdmission(port string) *admission {
	return &admission{token: rand.Text(), cookie: "mrlocal-token-" + port, path: "/" + rand.Text() + "/"}
}

// admits reports whether a request has the token in a cookie or in the header Authorization. If
// not, it writes the answer. If a request for the first page has the token in its query, the answer
// sets the cookie. It then redirects to the page at the path of the cookie, without the query.
func (a *admission) admits(w http.ResponseWriter, r *http.Request) bool {
	same := func(text string) bool { return subtle.ConstantTimeCompare([]byte(text), []byte(a.token)) == 1 }
	if given := r.URL.Query().Get("token"); r.Method == http.MethodGet && r.URL.Path == "/" && given != "" && same(given) {
		// No script can read the cookie, and the browser sends it only with requests of this site.
		http.SetCookie(w, &http.Cookie{Name: a.cookie, Value: a.token, Path: a.path, HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, a.path, http.StatusSeeOther)
		return false
	}
	if c, err := r.Cookie(a.cookie); err == nil && same(c.Value) {
		return true
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && same(bearer) {
		return true
	}
	http.Error(w, "the address that mrlocal has printed has a token; open that address", http.StatusUnauthorized)
	return false
}

// below returns a handler that serves next also below the path of the cookie.
func (a *admission) below(next http.Handler) http.Handler {
	stripped := http.StripPrefix(strings.TrimSuffix(a.path, "/"), next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, a.path) {
			stripped.ServeHTTP(w, r)
		} else {
			next.ServeHTTP(w, r)
		}
	})
}

// isJSON reports whether the header of a request declares its body as JSON. A form of another site
// cannot declare that, unless the browser asks this server first.
func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
