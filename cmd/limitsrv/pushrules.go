package main

import (
	"errors"
	"fmt"
	"strconv"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/internal/respclient"
	"limitsrv/server"
)

// rulesPart is the bytes of an argument of RL.RULES LOAD: the default of --max-arg-bytes.
var rulesPart = server.DefaultLimits.ArgBytes

// A served is the rules of a server.
type served struct {
	version int64 // 0: no rules
	text    string
	set     *rules.Set
}

// servedRules returns the rules of a server.
func servedRules(c *client) (s served, err error) {
	reply, err := c.do("RL.RULES", "VERSION")
	if err != nil {
		return s, err
	}
	fields, _ := reply.([]any)
	if len(fields) > 0 {
		s.version, _ = fields[0].(int64)
	}
	if s.version == 0 {
		return s, nil
	}
	reply, err = c.do("RL.RULES", "GET", strconv.FormatInt(s.version, 10))
	if err != nil {
		return s, err
	}
	text, kept := reply.(string)
	if !kept {
		return s, fmt.Errorf("version %d was replaced at this moment: try again", s.version)
	}
	s.text = text
	if s.set, err = rules.Load([]source.File{{Name: "its rules", Text: []byte(text)}}); err != nil {
		return s, fmt.Errorf("this version of limitsrv can't read them: %w", err)
	}
	return s, nil
}

// comparedRules connects to a server and prints the changes from its rules to the rules in
// to.
func comparedRules(c call, o *remoteOptions, address string, to *stored.Prepared) (*client, served, error) {
	conn, err := o.connect(address)
	if err != nil {
		return nil, served{}, fmt.Errorf("%s: %w", address, withRedisPort(err))
	}
	from, err := servedRules(conn)
	if err != nil {
		conn.Close()
		return nil, served{}, fmt.Errorf("the rules of %s: %w", address, withRedisPort(err))
	}
	d := rules.Compare(from.set, to.Set)
	for _, change := range d.Changes {
		fmt.Fprintln(c.stdout, changeText(change))
	}
	counts := fmt.Sprintf("%s added, %d changed, %d removed, %d restarted", plural(d.Added, "limit"), d.Changed, d.Removed,
		d.Restarted)
	switch {
	case from.version == 0:
		counts += "; it has no rules"
	case from.text == string(to.Text):
		counts = "the same text"
	case len(d.Changes) == 0:
		counts = "other text, the same limits"
	}
	fmt.Fprintf(c.stdout, "against %s, version %d: %s\n", address, from.version, counts)
	return conn, from, nil
}

// withRedisPort adds to the error of a port that does not speak the Redis protocol the ports that
// do.
func withRedisPort(err error) error {
	if !errors.Is(err, respclient.ErrNotRedis) {
		return err
	}
	return fmt.Errorf("%w; give the address of --listen, --tls-listen or --unixsocket: a server without them has the "+
		"rules of its --rules only", err)
}

// changeText returns a change as a line.
func changeText(c rules.Change) string {
	line, before, after := fmt.Sprintf("%-8v%s %s: ", c.Kind, c.Domain, c.Name), c.Old(), c.New()
	switch {
	case c.Kind == rules.Removed:
		return line + before
	case c.Kind == rules.Added:
		return line + after
	case before == after:
		line += after + ", for other requests or with another penalty"
	default:
		line += after + ", was " + before
	}
	if c.Restarted {
		line += "; counters start full"
	}
	return line
}

// checkAgainst prints the changes from the rules of a server to the rules in files.
func checkAgainst(c call, o *remoteOptions, address string, to *stored.Prepared) int {
	conn, _, err := comparedRules(c, o, address, to)
	if err != nil {
		fmt.Fprintf(c.stderr, "limitsrv rules check: %v\n", err)
		return exitFailure
	}
	conn.Close()
	return exitOK
}

// pushRules loads the rules of files on a server, if the server still has the rules that
// they were compared with.
func pushRules(c call, o *pushOptions, p *stored.Prepared) int {
	conn, from, err := comparedRules(c, &o.remoteOptions, o.To, p)
	if err == nil {
		defer conn.Close()
		if from.version > 0 && from.text == string(p.Text) {
			fmt.Fprintf(c.stdout, "unchanged: version %d\n", from.version)
			return exitOK
		}
		var version int64
		if version, err = loadOver(conn, from.version, o.Note, p.Text); err == nil {
			fmt.Fprintf(c.stdout, "loaded: version %d\n", version)
			return exitOK
		}
		err = fmt.Errorf("%s: %w", o.To, err)
	}
	fmt.Fprintf(c.stderr, "limitsrv rules push: %v\n", err)
	return exitFailure
}

// loadOver loads a text over a version of the rules, and returns its own.
func loadOver(conn *client, over int64, note string, text []byte) (version int64, err error) {
	args := []string{"RL.RULES", "LOAD", "EXPECT", strconv.FormatInt(over, 10)}
	if note != "" {
		args = append(args, "NOTE", note)
	}
	for len(text) > rulesPart {
		args, text = append(args, string(text[:rulesPart])), text[rulesPart:]
	}
	reply, err := conn.do(append(args, string(text))...)
	if refused := respclient.Error(""); err != nil && !errors.As(err, &refused) {
		err = fmt.Errorf("no answer has arrived, and the rules may or may not be loaded: %w", err)
	}
	if err != nil {
		return 0, err
	}
	if fields, ok := reply.([]any); ok && len(fields) > 0 {
		if version, ok := fields[0].(int64); ok {
			return version, nil
		}
	}
	return 0, errors.New("RL.RULES LOAD answers without a version")
}
