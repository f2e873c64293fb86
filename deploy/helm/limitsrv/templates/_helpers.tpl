{{/* The name of the objects. */}}
{{- define "limitsrv.name" -}}
{{- if contains "limitsrv" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-limitsrv" (.Release.Name | trunc 41 | trimSuffix "-") }}
{{- end }}
{{- end }}

{{/* The labels of pods, by which objects select them. */}}
{{- define "limitsrv.podLabels" -}}
app.kubernetes.io/name: limitsrv
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "limitsrv.labels" -}}
{{ include "limitsrv.podLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The ports for clients: name and number. */}}
{{- define "limitsrv.clientPorts" -}}
{{- if .Values.redis }}
redis: 6379
{{- end }}
{{- if .Values.tls.secret }}
redis-tls: 6380
{{- end }}
{{- if .Values.rls.grpc }}
rls: 9381
{{- end }}
{{- if .Values.rls.http }}
rls-http: 9380
{{- end }}
{{- end }}
