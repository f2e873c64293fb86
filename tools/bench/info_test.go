package main

import "testing"

func TestInfoOfPersistence(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		saving     bool
		failing    string
		copied     int64 // -1: an error
	}{
		{"no persistence", "", false, "", 0},
		{
			"at rest",
			"# Persistence\r\nloading:0\r\nrdb_bgsave_in_progress:0\r\nrdb_last_bgsave_status:ok\r\n" +
				"aof_rewrite_in_progress:0\r\nrdb_last_cow_size:4096\r\n",
			false, "", 4096,
		},
		{"a snapshot", "rdb_bgsave_in_progress:1\r\n", true, "", 0},
		{"a log rewrite", "aof_rewrite_in_progress:1\r\n", true, "", 0},
		{"a scheduled log rewrite", "aof_rewrite_scheduled:1\r\n", true, "", 0},
		{
			"a failed snapshot", "rdb_last_bgsave_status:err\r\n",
			false, "INFO persistence says rdb_last_bgsave_status:err", 0,
		},
		{"a malformed size", "rdb_last_cow_size:x\r\n", false, "", -1},
	} {
		got := parseInfo(tt.text)
		if saving := got.saving(); saving != tt.saving {
			t.Errorf("%s: saving = %v", tt.name, saving)
		}
		failing := ""
		if err := got.failing(); err != nil {
			failing = err.Error()
		}
		if failing != tt.failing {
			t.Errorf("%s: failing = %q, want %q", tt.name, failing, tt.failing)
		}
		if copied, err := got.copied(); err == nil && copied != tt.copied || err != nil && tt.copied != -1 {
			t.Errorf("%s: copied = %d, %v, want %d", tt.name, copied, err, tt.copied)
		}
	}
}
