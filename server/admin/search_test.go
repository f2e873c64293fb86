package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/status"
)

func keysOf(prefix, cursor string, count int) string {
	return fmt.Sprintf("/api/keys?prefix=%s&cursor=%s&count=%d", encodeKey([]byte(prefix)), cursor, count)
}

// TestSearchFindsAll finds each key with a prefix once, in replies of bounded size.
func TestSearchFindsAll(t *testing.T) {
	f := serve(t, "", nil)
	const keys = 5_000
	var lines, want []string
	for i := range keys {
		lines = append(lines, fmt.Sprintf("RL.FIXED user:%d 10 day", i), fmt.Sprintf("RL.TOKEN other:%d 10 0.001", i))
		want = append(want, fmt.Sprintf("user:%d", i))
	}
	f.execute(append(lines, "RL.FIXED user 10 day")...)
	var got []string
	searched := 0
	for cursor := "0"; ; {
		is := getJSON[found](f, keysOf("user:", cursor, 20))
		if most := 20 + 200; len(is.Keys) > most { // a page of keys has some 60
			t.Fatalf("a reply has %d keys, want at most %d", len(is.Keys), most)
		}
		for _, key := range is.Keys {
			if key.Algorithm != "FIXED" || key.Raw != encodeKey([]byte(key.Key)) {
				t.Fatalf("a key is %+v", key)
			}
			got = append(got, key.Key)
		}
		searched += is.Searched
		if cursor = is.Cursor; cursor == "0" {
			break
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d keys were found, want %d", len(got), len(want))
	}
	if all := 2*keys + 1; searched < all || searched > 2*all {
		t.Errorf("%d keys were searched, want about %d", searched, all)
	}
}

// TestSearchIsBounded searches for a missing key among more keys than one reply covers.
func TestSearchIsBounded(t *testing.T) {
	f := serve(t, "", nil)
	var lines []string
	for i := range maxSearched + maxSearched/2 {
		lines = append(lines, fmt.Sprintf("RL.FIXED user:%d 10 day", i))
	}
	f.execute(lines...)
	first := getJSON[found](f, keysOf("none", "0", 1))
	if first.Searched < maxSearched || first.Searched > maxSearched+1000 || first.Cursor == "0" {
		t.Fatalf("the first reply covers %d keys and continues at %s, want %d", first.Searched, first.Cursor, maxSearched)
	}
	if second := getJSON[found](f, keysOf("none", first.Cursor, 1)); second.Cursor != "0" || len(first.Keys)+
		len(second.Keys) > 0 {
		t.Errorf("the second reply is %+v", second)
	}
}

// TestSearchesWait holds the only slot, so that a search waits until its client leaves.
func TestSearchesWait(t *testing.T) {
	f := serve(t, "", nil)
	f.searching <- struct{}{}
	ctx, stop := context.WithCancel(context.Background())
	answered := make(chan *httptest.ResponseRecorder)
	go func() {
		w := httptest.NewRecorder()
		f.search(w, httptest.NewRequestWithContext(ctx, "GET", keysOf("", "0", 1), nil), identity{account: f.account()})
		answered <- w
	}()
	select {
	case w := <-answered:
		t.Errorf("a second search did not wait: %d %s", w.Code, w.Body)
	case <-time.After(20 * time.Millisecond):
		stop()
		if w := <-answered; w.Code != http.StatusServiceUnavailable {
			t.Errorf("a cancelled search: %d %s", w.Code, w.Body)
		}
	}
	stop()
	<-f.searching
	f.expect(keysOf("", "0", 1), "", 200, `{"keys":[],"searched":16,"cursor":"0"}`)
}

func TestSearchRejectsInvalidParameters(t *testing.T) {
	f := serve(t, "", nil)
	f.expect("/api/keys?prefix=***&cursor=0&count=1", "", 400,
		`{"error":"raw must be the bytes of a key in the URL-safe alphabet of base64"}`)
	f.expect(keysOf(strings.Repeat("x", 1025), "0", 1), "", 400,
		`{"error":"prefix must be at most 1024 bytes long, got 1025"}`)
	f.expect(keysOf("", "x", 1), "", 400, `{"error":"cursor must be 0 or the cursor of the last reply, got \"x\""}`)
	f.expect(keysOf("", "281474976710656", 1), "", 400,
		`{"error":"cursor must be 0 or the cursor of the last reply, got \"281474976710656\""}`)
	f.expect(keysOf("", "0", 101), "", 400, `{"error":"count must be 1 to 100, got \"101\""}`)
	f.expect(keysOf("", "0", 0), "", 400, `{"error":"count must be 1 to 100, got \"0\""}`)
}

// TestNowWithStorage checks the reports of disk, snapshot and their failures.
func TestNowWithStorage(t *testing.T) {
	f := serve(t, "", nil)
	if is := getJSON[serverState](f, "/api/now"); is.Storage != nil {
		t.Errorf("a server in memory has the storage %+v", is.Storage)
	}
	f.store.status = status.Store{
		Fsync: "everysec", Failed: fmt.Errorf("no space\nleft"),
		Log:   status.Log{Bytes: 5, Segments: 2, Unsynced: 7},
		Saved: status.Snapshot{At: time.UnixMilli(9), Bytes: 8, Took: time.Second, Err: fmt.Errorf("no room")},
	}
	f.store.status.Saving.Since = time.UnixMilli(10)
	const want = `"storage":{"fsync":"everysec","failed":"no space left","log_bytes":5,"log_segments":2,"unsynced":7,` +
		`"snapshot":{"time_ms":9,"bytes":8,"took_ms":1000,"failed":"no room","writing":true}},"cluster":null}`
	if _, text := f.request("/api/now", ""); !strings.HasSuffix(text, want) {
		t.Errorf("it ends with %s, want %s", text[max(0, len(text)-len(want)):], want)
	}
	f.cluster.ofThree()
	if is := getJSON[serverState](f, "/api/now"); is.Storage.Unsynced != nil {
		t.Errorf("a member reports %d unsynced decisions, want null", *is.Storage.Unsynced)
	}
}
