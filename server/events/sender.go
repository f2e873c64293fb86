package events

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// deliveryTimeout bounds a delivery, with the answer.
	deliveryTimeout = 10 * time.Second
	// maxReplyBytes bounds the part of an answer that is read, so that its connection can be used
	// again.
	maxReplyBytes = 64 << 10
	// lookInterval is the time between two looks at the list, for the events of other nodes.
	lookInterval = time.Second
	// leastPause and mostPause bound the time until a failed delivery is tried again. It doubles with
	// each failure.
	leastPause = time.Second
	mostPause  = time.Minute
	// SignatureHeader is the header of the signatures.
	SignatureHeader = "Limitsrv-Signature"
)

// A List has the events that wait.
type List interface {
	// Read returns the first events, as JSON.
	Read(ctx context.Context) ([][]byte, error)
	// Remove removes events that Read returned, after they were sent.
	Remove(ctx context.Context, all [][]byte) error
	// Changed receives a value after there may be new events.
	Changed() <-chan struct{}
	// Failed gets the error of a delivery. It reports whether the delivery before succeeded.
	Failed(err error) (first bool)
	// Idle tells that another node sends the events.
	Idle()
}

// A Config has the options and the parts of a Sender. All are required, except for Transport.
type Config struct {
	URL     string // as CheckURL accepts it
	Secrets func() []string
	List    List
	// Leads reports whether this node sends the events: it is alone, or leads its cluster.
	Leads     func() bool
	Version   string
	Log       *slog.Logger
	Transport http.RoundTripper // nil: HTTP over TCP, through the proxy of the environment
}

// CheckURL returns an error unless events may be sent to an address: over https, or to this machine
// over http.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("it must be https://HOST/PATH, or http:// to this machine, got another form")
	case u.User != nil:
		return errors.New("it must have no user and password, because options are shown: receivers check the signature")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return fmt.Errorf("it must be https, because events name customers, got http to %s; http is for 127.0.0.1, ::1 and "+
			"localhost", u.Hostname())
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// A Sender sends the events of a list.
type Sender struct {
	config Config
	client http.Client
}

// New returns a Sender. It sends nothing yet.
func New(c Config) *Sender {
	if c.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConns, t.MaxConnsPerHost, t.MaxResponseHeaderBytes = 1, 1, maxReplyBytes
		c.Transport = t
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sender{c, http.Client{Transport: c.Transport, Timeout: deliveryTimeout, CheckRedirect: refuse}}
}

// Run sends the events of the list until ctx ends. Then it sends the events that are left, until last
// ends or a delivery fails.
func (s *Sender) Run(ctx, last context.Context) {
	defer s.client.CloseIdleConnections()
	pause := leastPause
	for {
		more, err := s.sendSome(last)
		if err != nil && s.config.List.Failed(err) {
			s.config.Log.Warn("events can't be delivered, and are sent again", "to", hostOf(s.config.URL), "error", err)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return
		case err != nil:
			wait(ctx, pause+rand.N(pause/4), nil)
			pause = min(2*pause, mostPause)
			continue
		}
		if pause = leastPause; !more {
			if ctx.Err() != nil {
				return
			}
			wait(ctx, lookInterval, s.config.List.Changed())
		}
	}
}

// wait returns after d, or earlier if ctx ends or changed has a value.
func wait(ctx context.Context, d time.Duration, changed <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	case <-ctx.Done():
	}
}

// sendSome sends the first events of the list. more is true if there may be further events.
func (s *Sender) sendSome(ctx context.Context) (more bool, err error) {
	list := s.config.List
	if !s.config.Leads() {
		list.Idle()
		return false, nil
	}
	all, err := list.Read(ctx)
	if err != nil || len(all) == 0 {
		return false, err
	}
	if err = s.post(ctx, bodyOf(all)); err != nil {
		return false, err
	}
	return true, list.Remove(ctx, all)
}

// bodyOf returns the body of a delivery. It leaves out texts of the list that are not JSON: a client
// has put them there.
func bodyOf(all [][]byte) []byte {
	body := []byte(`{"events":[`)
	for _, event := range all {
		if !json.Valid(event) {
			continue
		}
		if body[len(body)-1] != '[' {
			body = append(body, ',')
		}
		body = append(body, event...)
	}
	return append(body, "]}\n"...)
}

// post delivers a body once.
func (s *Sender) post(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.config.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "limitsrv/"+s.config.Version)
	r.Header.Set(SignatureHeader, Signature(time.Now(), body, s.config.Secrets()))
	response, err := s.client.Do(r)
	if failed := new(url.Error); errors.As(err, &failed) {
		return failed.Err // without the address, because its path may be secret
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxReplyBytes)) // only for the connection
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the receiver must answer with a status of 200 to 299, got %d", response.StatusCode)
	}
	return nil
}

// hostOf returns the host of an address, for the log.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// Signature returns the header for a body that is sent at a time: t=SECONDS, and v1=HEX for each
// secret. HEX is the HMAC with SHA-256 of the seconds, a period and the body.
func Signature(at time.Time, body []byte, secrets []string) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	header := "t=" + seconds
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(seconds + "."))
		mac.Write(body)
		header += ",v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	return header
}
