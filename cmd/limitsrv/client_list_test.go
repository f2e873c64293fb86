package main

import (
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// clientFields are the fields of CLIENT LIST in Redis 7.2, in order.
var clientFields = strings.Fields("id addr laddr fd name age idle flags db sub psub ssub multi qbuf qbuf-free " +
	"argv-mem multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver")

// clientLine returns the fields of the connection with a name in CLIENT LIST.
func clientLine(t *testing.T, w *wire, name string) map[string]string {
	t.Helper()
	all, _ := w.do(t, "CLIENT LIST").(string)
	line := regexp.MustCompile(`(?m)^.* name=` + name + ` .*$`).FindString(all)
	is := map[string]string{}
	var names []string
	for _, field := range strings.Fields(line) {
		key, value, _ := strings.Cut(field, "=")
		is[key] = value
		names = append(names, key)
	}
	if got, want := strings.Join(names, " "), strings.Join(clientFields, " "); got != want {
		t.Fatalf("CLIENT LIST has the fields\n%s\nwant\n%s\nin\n%s", got, want, all)
	}
	return is
}

func numberOf(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// CLIENT LIST reports the buffers of each connection.
func TestClientListReportsBuffers(t *testing.T) {
	for _, threads := range []string{"1", "-1"} {
		t.Run("io-threads "+threads, func(t *testing.T) {
			r := serve(t, "--io-threads="+threads)
			w := wired(t, r.address)
			named := func(name string) *wire {
				c := wired(t, r.address)
				if got := c.do(t, "CLIENT SETNAME "+name); got != "OK" {
					t.Fatalf("reply to CLIENT SETNAME = %v", got)
				}
				return c
			}
			named("quiet")
			until(t, "the reply is written and the connection is idle",
				func() bool { return clientLine(t, w, "quiet")["events"] == "r" })
			if is := clientLine(t, w, "quiet"); is["multi"] != "-1" || is["qbuf"] != "0" || is["omem"] != "0" ||
				is["obl"] != "0" || is["events"] != "r" || is["rbp"] != "5" || is["fd"] == "-1" {
				t.Errorf("an idle connection is reported as %v", is)
			}
			const begun = "*2\r\n$4\r\nECHO\r\n$10\r\nabc"
			half := named("half")
			_, _ = io.WriteString(half, begun)
			until(t, "the bytes of half a command are received",
				func() bool { return numberOf(t, clientLine(t, w, "half")["qbuf"]) == len(begun) })

			open := named("open")
			for _, line := range []string{"MULTI", "RL.TOKEN k 10 1", "PING"} {
				open.do(t, line)
			}
			until(t, "the transaction has 2 commands", func() bool { return clientLine(t, w, "open")["multi"] == "2" })
			if is := clientLine(t, w, "open"); is["flags"] != "x" || is["multi-mem"] == "0" {
				t.Errorf("a connection with a transaction of 2 is reported as %v", is)
			}
			open.do(t, "EXEC")
			until(t, "the transaction is over", func() bool { return clientLine(t, w, "open")["multi"] == "-1" })
			if is := clientLine(t, w, "open"); is["flags"] != "N" || is["multi-mem"] != "0" {
				t.Errorf("a connection after its transaction is reported as %v", is)
			}
			deaf := named("deaf")
			go io.WriteString(deaf, strings.Repeat("COMMAND DOCS\r\n", 500))
			until(t, "the replies of a connection that does not read are reported", func() bool {
				is := clientLine(t, w, "deaf")
				waits, all := numberOf(t, is["omem"])+numberOf(t, is["obl"]), numberOf(t, is["tot-mem"])
				return waits > 10_000 && all > waits && is["events"] == "rw" && numberOf(t, is["rbp"]) > 10_000
			})
			me := wired(t, r.address)
			me.do(t, "CLIENT SETNAME me")
			if info, _ := me.do(t, "CLIENT INFO").(string); !strings.Contains(info, " argv-mem=10 ") {
				t.Errorf("CLIENT INFO is %s, want argv-mem=10", info)
			}
		})
	}
}
