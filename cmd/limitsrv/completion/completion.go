// Package completion writes the scripts that complete a command line of limitsrv in a
// shell.
package completion

import (
	"io"
	"strings"
	"text/template"
)

// A Word is a word that a shell completes: an option or a tool.
type Word struct {
	Name, Help string
	Flag       bool     // it takes no value
	Values     []string // the possible values, if they are few
	Files      bool     // a file or directory follows
}

// Words are all words that a shell completes.
type Words struct{ Options, Tools []Word }

// Write writes the script of a shell: bash, zsh or fish.
func Write(w io.Writer, shell string, words Words) error {
	return scripts[shell].Execute(w, words)
}

// parse parses a template. Its function quote escapes text for single
// quotes, and the characters in special by a backslash.
func parse(name, text string) *template.Template {
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

// scripts are the templates by shell.
var scripts = map[string]*template.Template{
	"bash": parse("bash", `# bash completion of limitsrv
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
	"zsh": parse("zsh", `#compdef limitsrv

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
	"fish": parse("fish", `# fish completion of limitsrv
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
