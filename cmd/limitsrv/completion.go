package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
)

// completionOptions are the options of the tool completion.
type completionOptions struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

const completionDescription = `Prints the script with which a shell completes the options and tools of limitsrv.

  bash:  limitsrv completion bash > /etc/bash_completion.d/limitsrv
  zsh:   limitsrv completion zsh > "${fpath[1]}/_limitsrv"
  fish:  limitsrv completion fish > ~/.config/fish/completions/limitsrv.fish`

// A completionWord is a word that a shell completes: an option or a tool.
type completionWord struct {
	Name, Help string
	Flag       bool     // it takes no value
	Values     []string // the possible values, if they are few
	Files      bool     // a file or directory follows
}

// script is the data of a completion script.
type script struct{ Options, Tools []completionWord }

func newScript() (s script, err error) {
	parser, err := newParser(new(options))
	if err != nil {
		return s, err
	}
	for _, f := range parser.Model.Flags {
		s.Options = append(s.Options, completionWord{
			Name: f.Name, Help: firstSentence(f.Help), Flag: f.IsBool(), Values: choices(f),
			Files: slices.Contains([]string{"FILE", "DIR", "PATH"}, f.PlaceHolder),
		})
	}
	for _, t := range tools() {
		c := completionWord{Name: t.name, Help: t.help, Files: true}
		if first, _, _ := strings.Cut(t.args, " "); strings.Contains(first, "|") {
			c.Values = strings.Split(first, "|")
		}
		s.Tools = append(s.Tools, c)
	}
	return s, nil
}

// firstSentence returns text up to its first full stop.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, ". ")
	return strings.TrimSuffix(text, ".")
}

// runCompletion is the tool completion.
func runCompletion(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	var o completionOptions
	if code, ok := parseTool("completion", completionDescription, &o, args, stdout, stderr); !ok {
		return code
	}
	s, err := newScript()
	if err == nil {
		err = completionScripts[o.Shell].Execute(stdout, s)
	}
	if err != nil {
		fmt.Fprintf(stderr, "limitsrv completion: %v\n", err)
		return exitFailure
	}
	return exitOK
}

// completionTemplate parses a template. Its function quote escapes text for single
// quotes, and the characters in special by a backslash.
func completionTemplate(name, text string) *template.Template {
	return template.Must(template.New(name).Funcs(template.FuncMap{
		"quote": func(special, text string) string {
			var b strings.Builder
			for _, r := range text {
				switch {
				case r == '\'':
					b.WriteString(`'\''`)
					continue
				case strings.ContainsRune(special, r):
					b.WriteByte('\\')
				}
				b.WriteRune(r)
			}
			return b.String()
		},
		"join": func(words []string) string { return strings.Join(words, " ") },
	}).Parse(text))
}

var completionScripts = map[string]*template.Template{
	"bash": completionTemplate("bash", `# bash completion of limitsrv
_limitsrv() {
	local IFS=$' \t\n' words='' cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	if [[ $cur == '=' ]]; then
		cur=
	elif [[ $prev == '=' ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	COMPREPLY=()
	case $prev in
{{- range .Options}}{{if .Values}}
	--{{.Name}}) words='{{join .Values}}' ;;
{{- else if .Files}}
	--{{.Name}}) IFS=$'\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return ;;
{{- else if not .Flag}}
	--{{.Name}}) return ;;
{{- end}}{{end}}
{{- range .Tools}}{{if .Values}}
	{{.Name}}) [[ $COMP_CWORD -eq 2 ]] && words='{{join .Values}}' ;;
{{- end}}{{end}}
	esac
	if [[ -z $words && $cur == -* ]]; then
		words='{{range .Options}}--{{.Name}} {{end}}'
	elif [[ -z $words && $COMP_CWORD -eq 1 ]]; then
		words='{{range .Tools}}{{.Name}} {{end}}'
	fi
	if [[ -n $words ]]; then
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
	else
		IFS=$'\n'
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -F _limitsrv limitsrv
`),
	"zsh": completionTemplate("zsh", `#compdef limitsrv

_limitsrv_rest() {
	case $words[2] in
{{- range .Tools}}{{if .Values}}
	{{.Name}}) (( CURRENT == 3 )) && { compadd {{join .Values}}; return } ;;
{{- end}}{{end}}
	esac
	_files
}

_limitsrv() {
	local -a tools=(
{{- range .Tools}}
		'{{.Name}}:{{quote ":" .Help}}'
{{- end}}
	)
	_arguments \
{{- range .Options}}
		'--{{.Name}}{{if not .Flag}}={{end}}[{{quote "[]" .Help}}]{{if .Values}}:value:({{join .Values}}){{else if .Files}}:file:_files{{else if not .Flag}}:value: {{end}}' \
{{- end}}
		'1:tool:{ _describe tool tools }' \
		'*:file:_limitsrv_rest'
}

if [[ $funcstack[1] == _limitsrv ]]; then
	_limitsrv "$@"
else
	compdef _limitsrv limitsrv
fi
`),
	"fish": completionTemplate("fish", `# fish completion of limitsrv
{{- range .Options}}
complete -c limitsrv -l {{.Name}}{{if .Values}} -x -a '{{join .Values}}'{{else if .Files}} -r -F{{else if not .Flag}} -x{{end}} -d '{{quote "" .Help}}'
{{- end}}
{{- range .Tools}}
complete -c limitsrv -n __fish_use_subcommand -f -a {{.Name}} -d '{{quote "" .Help}}'
{{- if .Values}}
complete -c limitsrv -n '__fish_seen_subcommand_from {{.Name}}; and not __fish_seen_subcommand_from {{join .Values}}' -f -a '{{join .Values}}'
{{- end}}
{{- end}}
`),
}
