package admin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/session"
	"limitsrv/engine"
)

func TestSession(t *testing.T) {
	open := serve(t, "", nil)
	open.expect("/api/session", "", 200,
		`{"login_needed":false,"user":"","may":{"peek":true,"admin":true},"version":"1.2.3"}`)
	f := serve(t, "secret", nil)
	f.expect("/api/session", "", 200,
		`{"login_needed":true,"user":"","may":{"peek":false,"admin":false},"version":"1.2.3"}`)
	f.expect("/api/session", "", 200,
		`{"login_needed":true,"user":"default","may":{"peek":true,"admin":true},"version":"1.2.3"}`,
		basic("default", "secret"))
}

func TestNow(t *testing.T) {
	f := serve(t, "", nil)
	f.execute("RL.TOKEN a 1 1", "RL.TOKEN a 1 1", "RL.TOKEN a 1 1 SHADOW", "RL.FIXED b 10 day")
	is := getJSON[serverState](f, "/api/now")
	switch {
	case is.Decisions["TOKEN"] != outcomes{1, 2} || is.Decisions["FIXED"] != outcomes{1, 0} ||
		len(is.Decisions) != len(slices.Collect(engine.Algs())):
		t.Errorf("decisions are %v", is.Decisions)
	case is.Shadow != 1 || is.Keys != 2 || is.Memory <= 0 || is.MaxMemory != 1_000_000 || is.OnFull != "refuse":
		t.Errorf("keys are %+v", is)
	case is.Connections != 3 || is.MaxClients != 50 || is.Version != "1.2.3" || !is.Ready || is.NotReady != "" ||
		is.Cluster != nil:
		t.Errorf("the server is %+v", is)
	case time.Since(time.UnixMilli(is.Time)).Abs() > time.Minute:
		t.Errorf("time is %d", is.Time)
	}
	wrong := time.Since(time.Unix(0, int64(testStart)))
	if got := time.Duration(is.ClockError) * time.Millisecond; (wrong - got).Abs() > time.Minute {
		t.Errorf("the clock differs by %v from the time of decisions", got)
	}
	f.handler.SetLoading(true)
	if is = getJSON[serverState](f, "/api/now"); is.Ready || is.NotReady != "the state is being loaded" {
		t.Errorf("while loading ready is %v, %q", is.Ready, is.NotReady)
	}
}

func TestNowInCluster(t *testing.T) {
	f := serve(t, "", nil)
	f.cluster.ofThree()
	_, text := f.request("/api/now", "")
	want := `"cluster":{"role":"leader","term":7,"has_quorum":true,"members":[` +
		`{"id":"a","client":"10.0.0.1:7001","raft":"10.0.0.1:8001","leader":true,"voter":true,"online":true,"self":true,"lag":0,"last_contact_ms":0,"version":"1","clock_error_ms":0},` +
		`{"id":"b","client":"10.0.0.2:7002","raft":"10.0.0.2:8002","leader":false,"voter":true,"online":true,"self":false,"lag":10,"last_contact_ms":1500,"version":"1","clock_error_ms":2500},` +
		`{"id":"c","client":"","raft":"10.0.0.3:8003","leader":false,"voter":false,"online":false,"self":false,"lag":-1,"last_contact_ms":-1,"version":"","clock_error_ms":0}]}}`
	if !strings.HasSuffix(text, want) {
		t.Errorf("it ends with %s, want %s", text[max(0, len(text)-len(want)):], want)
	}
}

func TestKey(t *testing.T) {
	f := serve(t, "", nil)
	f.execute("RL.TOKEN token 10 100/1m 4", "RL.LEAKY leaky 1 0.5", "RL.FIXED fixed 10 60s", "RL.FIXED day 10 day",
		"RL.SLIDE slide 10 60s",
		"RL.LOG log 10 60s", "RL.ACQUIRE lease 3 30s me")
	for name, want := range map[string]string{
		"token": `"algorithm":"TOKEN","limit":10,"rate":{"count":1,"period_ns":600000000},"window_ns":null,"calendar":null,"remaining":6,"wait_ms":0,"reset_ms":2400`,
		"leaky": `"algorithm":"LEAKY","limit":1,"rate":{"count":1,"period_ns":2000000000},"window_ns":null,"calendar":null,"remaining":0,"wait_ms":2000,"reset_ms":2000`,
		"fixed": `"algorithm":"FIXED","limit":10,"rate":null,"window_ns":60000000000,"calendar":null,"remaining":9,"wait_ms":0,"reset_ms":40000`,
		"day":   `"algorithm":"FIXED","limit":10,"rate":null,"window_ns":null,"calendar":"day","remaining":9,"wait_ms":0,"reset_ms":6400000`,
		"slide": `"algorithm":"SLIDE","limit":10,"rate":null,"window_ns":60000000000,"calendar":null,"remaining":9,"wait_ms":0,"reset_ms":40001`,
		"log":   `"algorithm":"LOG","limit":10,"rate":null,"window_ns":60000000000,"calendar":null,"remaining":9,"wait_ms":0,"reset_ms":60000`,
		"lease": `"algorithm":"LEASE","limit":3,"rate":null,"window_ns":30000000000,"calendar":null,"remaining":2,"wait_ms":0,"reset_ms":30000`,
	} {
		id := encodeKey([]byte(name))
		f.expect("/api/key?raw="+id, "", 200, `{"found":true,"key":"`+name+`","raw":"`+id+`",`+want+`}`)
	}
	f.expect("/api/key?raw="+encodeKey([]byte("nobody")), "", 200, `{"found":false}`)
	f.expect("/api/key", "", 400, `{"error":"key must be 1 to 1024 bytes long, got ''"}`)
	f.expect("/api/key?raw=***", "", 400, `{"error":"raw must be the bytes of a key in the URL-safe alphabet of base64"}`)
	f.handler.SetLoading(true)
	f.expect("/api/key?raw=YQ", "", 503, `{"error":"limitsrv is loading the dataset in memory"}`)
}

func TestKeyOfInvalidUTF8(t *testing.T) {
	f := serve(t, "", nil)
	key := "\xff<b>\u202e\x00"
	s := f.handler.NewSessionAs(session.Client{Wake: func() {}}, f.account())
	defer s.Close()
	s.Do([][]byte{[]byte("RL.FIXED"), []byte(key), []byte("10"), []byte("day")})
	s.Flush()
	is := getJSON[keyState](f, "/api/key?raw="+encodeKey([]byte(key))+"==")
	if want := "\\xff<b>\u202e\x00"; is.Key != want || is.Raw != encodeKey([]byte(key)) {
		t.Errorf("key is %q, want %q", is.Key, want)
	}
}

func TestReset(t *testing.T) {
	f := serve(t, "", nil)
	f.execute("RL.FIXED a 10 day", "RL.FIXED b 10 day")
	f.expect("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":1}`)
	f.expect("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":0}`)
	f.expect("/api/key?raw=Yg", "", 200,
		`{"found":true,"key":"b","raw":"Yg","algorithm":"FIXED","limit":10,"rate":null,"window_ns":null,"calendar":"day","remaining":9,"wait_ms":0,"reset_ms":6400000}`)
	f.expect("/api/reset", `{"raw":""}`, 400, `{"error":"key must be 1 to 1024 bytes long, got ''"}`)
	f.expect("/api/reset", `{"key":"a"}`, 400, `{"error":"the body is not the expected JSON object"}`)
	f.expect("/api/reset", `{"raw":"YQ"}`, 415, `{"error":"the body must be application/json"}`,
		header("Content-Type", "text/plain"))
	f.expect("/api/reset", `{"raw":"`+strings.Repeat("a", maxBodyBytes)+`"}`, 413,
		`{"error":"the body must be at most 8192 bytes, got more"}`)
}

// Keys of all databases are listed, read and reset.
func TestDatabases(t *testing.T) {
	f := serve(t, "", nil)
	f.execute("RL.FIXED a 10 day", "SELECT 3", "RL.FIXED a 5 day", "RL.FIXED a 5 day")
	f.expect("/api/top?by=hot&window=minute&count=5", "", 200,
		`{"window_s":60,"keys":[{"key":"a","raw":"YQ","db":3,"count":2,"error":0},{"key":"a","raw":"YQ","db":0,"count":1,"error":0}]}`)
	f.expect("/api/key?raw=YQ&db=3", "", 200,
		`{"found":true,"key":"a","raw":"YQ","algorithm":"FIXED","limit":5,"rate":null,"window_ns":null,"calendar":"day","remaining":3,"wait_ms":0,"reset_ms":6400000}`)
	f.expect("/api/key?raw=YQ&db=16", "", 400, `{"error":"db must be 0 to 15, got \"16\""}`)
	f.expect("/api/key?raw=YQ&db=x", "", 400, `{"error":"db must be 0 to 15, got \"x\""}`)
	f.expect("/api/reset", `{"raw":"YQ","db":16}`, 400, `{"error":"db must be 0 to 15, got 16"}`)
	f.expect("/api/reset", `{"raw":"YQ","db":3}`, 200, `{"forgotten":1}`)
	f.expect("/api/key?raw=YQ&db=3", "", 200, `{"found":false}`)
	f.expect("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":1}`)
}

func TestTop(t *testing.T) {
	f := serve(t, "", nil)
	f.execute("RL.TOKEN a 1 1", "RL.TOKEN a 1 1", "RL.TOKEN a 1 1", "RL.FIXED b 1 day", "RL.FIXED b 1 day",
		"RL.FIXED c 1 day")
	f.expect("/api/top?by=denied&window=minute&count=5", "", 200,
		`{"window_s":60,"keys":[{"key":"a","raw":"YQ","db":0,"count":2,"error":0},{"key":"b","raw":"Yg","db":0,"count":1,"error":0}]}`)
	f.expect("/api/top?by=hot&window=hour&count=1", "", 200,
		`{"window_s":3800,"keys":[{"key":"a","raw":"YQ","db":0,"count":3,"error":0}]}`)
}

func TestTopRejectsInvalidParameters(t *testing.T) {
	f := serve(t, "", nil)
	f.expect("/api/top?by=cold&window=minute&count=1", "", 400, `{"error":"by must be denied or hot, got \"cold\""}`)
	f.expect("/api/top?by=hot&window=day&count=1", "", 400, `{"error":"window must be minute or hour, got \"day\""}`)
	f.expect("/api/top?by=hot&window=hour&count=101", "", 400, `{"error":"count must be 1 to 100, got \"101\""}`)
	f.expect("/api/top?by=hot&window=hour", "", 400, `{"error":"count must be 1 to 100, got \"\""}`)
	f.expect("/api/nothing", "", 404, `{"error":"no such API call"}`)
}
