{{- define "atoll.labels" -}}
app.kubernetes.io/name: atoll
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
